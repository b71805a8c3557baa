import { conversationDecider, MessageSent, textKeyOf } from '../../domain/messaging/conversation.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { inboxDecider, raiseNotification } from '../../domain/notifications/inbox.ts';
import { dataOf } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import { uuidFromName } from '../request-context.ts';
import type { KeyRing } from '../sealing.ts';
import type { StreamStates } from '../stream-states.ts';
import type { Subscriber } from '../subscriber.ts';
import { causeOf } from './cause.ts';

/**
 * Raises a notification for everybody a message mentions (specification, Messaging). The id is made from message
 * and recipient, and the causation is the message's event: handled twice, it notifies once.
 */
export const mentionNotifier = (deps: {
  readonly commands: CommandHandler;
  readonly states: StreamStates;
  readonly keys: KeyRing;
}): Subscriber => ({
  name: 'mention-notifier',
  types: [MessageSent.type],
  handle: async (event) => {
    const message = dataOf(MessageSent, event);
    if (message === undefined || message.mentioned_user_ids.length === 0) return;
    const text = await deps.keys.open(message.body);
    const { state } = await deps.states.load(event.tenantId, conversationDecider, message.conversation_id);
    const participants = state.status === 'started' ? state.participants : [];
    for (const recipientId of message.mentioned_user_ids) {
      // Somebody outside the conversation learns that they were named, and nothing of what was said.
      const snippet = participants.includes(recipientId) && text !== undefined ? snippetSource(text) : '';
      await deps.commands.execute({
        tenantId: event.tenantId,
        decider: inboxDecider,
        id: recipientId,
        cause: causeOf(event),
        again: { after: event.position },
        decide: () =>
          raiseNotification({
            notificationId: uuidFromName(
              `mention\n${event.tenantId}/message-${message.message_id}\n${recipientId}`,
            ),
            recipientId,
            kind: 'message_mention',
            actorId: message.sender_user_id,
            subject: { kind: 'conversation', id: message.conversation_id },
            noteId: message.message_id,
            snippet,
            snippetKey: textKeyOf(message),
          }),
      });
    }
  },
});
