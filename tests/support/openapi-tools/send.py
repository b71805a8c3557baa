"""Arguments: the server, a token, the id of a person to write to. Prints the id of the message."""

import sys

from generated_client import AuthenticatedClient
from generated_client.api.messaging import send_message, start_conversation
from generated_client.models import MessageBody, StartConversationBody

base_url, token, user_id = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=token, raise_on_unexpected_status=True)
started = start_conversation.sync(client=client, body=StartConversationBody(participant_user_ids=[user_id]))
sent = send_message.sync(id=started.id, client=client, body=MessageBody(body="Hello"))
print(sent.id, end="")
