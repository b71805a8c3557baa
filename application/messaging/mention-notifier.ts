import { conversationStream, MessageSent } from '../../domain/messaging/conversation.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { inboxStream, raiseNotification } from '../../domain/notifications/inbox.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { textKeyOf } from '../core/privacy/key-ids.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';

/**
 * Raises a notification for each person mentioned in a message (specification, Messaging). Ids derive from message and
 * recipient and the causation is the message's event, so that a repeat has no effect.
 */
export const mentionNotifier = (deps: { readonly streams: Streams; readonly keys: KeyRing }): Subscriber => ({
  name: 'mention-notifier',
  types: [MessageSent.type],
  handle: async (event) => {
    const message = dataOf(MessageSent, event);
    if (message === undefined || message.mentioned_user_ids.length === 0) return;
    const text = await deps.keys.open(message.body);
    const { state } = await deps.streams
      .of(conversationStream, event.tenantId, message.conversation_id)
      .load();
    const participants = state.status === 'started' ? state.participants : [];
    for (const recipientId of message.mentioned_user_ids) {
      // A person outside the conversation gets no part of the text.
      const snippet = participants.includes(recipientId) && text !== undefined ? snippetSource(text) : '';
      await deps.streams
        .of(inboxStream, event.tenantId, recipientId)
        .execute({ cause: causeOf(event), priorAttempt: { after: event.position } }, () =>
          raiseNotification({
            notification_id: uuidFromName(
              `mention\n${event.tenantId}/message-${message.message_id}\n${recipientId}`,
            ),
            recipient_user_id: recipientId,
            kind: 'message_mention',
            actor_user_id: message.sender_user_id,
            subject_kind: 'conversation',
            subject_id: message.conversation_id,
            note_id: message.message_id,
            snippet,
            snippet_key: textKeyOf(message),
          }),
        );
    }
  },
});
