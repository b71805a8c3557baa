import { sendMessage, startConversation } from './generated/hey-api';
import { client } from './generated/hey-api/client.gen';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

/** Arguments: the server, a token, the id of a person to write to. Prints the id of the message. */
const main = async ([baseUrl = '', token = '', userId = '']: string[]): Promise<void> => {
  client.setConfig({ baseUrl, auth: token });
  const started = await startConversation({ body: { participant_user_ids: [userId] }, throwOnError: true });
  const sent = await sendMessage({
    path: { id: started.data.id },
    body: { body: 'Hello' },
    throwOnError: true,
  });
  process.stdout.write(sent.data.id);
};

void main(process.argv.slice(2));
