import { conversationStream, MessageSent } from '../../domain/messaging/conversation.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { textKeyOf } from '../core/privacy/key-ids.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import { type CausedNotification, raiseAll } from '../notifications/raising.ts';

/**
 * Raises a notification for each person mentioned in a message (specification, Messaging). Ids derive from message and
 * recipient, so that a repeat has no effect.
 */
export const mentionNotifier = (deps: { readonly streams: Streams; readonly keys: KeyRing }): Subscriber => {
  const notificationsOf = async (event: LoggedEvent): Promise<readonly CausedNotification[]> => {
    const message = dataOf(MessageSent, event);
    if (message === undefined || message.mentioned_user_ids.length === 0) return [];
    const text = await deps.keys.open(message.body);
    const { state } = await deps.streams
      .of(conversationStream, event.tenantId, message.conversation_id)
      .load();
    const participants = new Set(state.status === 'started' ? state.participants : []);
    const source = text === undefined ? '' : snippetSource(text);
    return message.mentioned_user_ids.map((recipientId) => ({
      event,
      data: {
        notification_id: uuidFromName(
          `mention\n${event.tenantId}/message-${message.message_id}\n${recipientId}`,
        ),
        recipient_user_id: recipientId,
        kind: 'message_mention',
        actor_user_id: message.sender_user_id,
        subject_kind: 'conversation',
        subject_id: message.conversation_id,
        note_id: message.message_id,
        // A person outside the conversation gets no part of the text.
        snippet: participants.has(recipientId) ? source : '',
        snippet_key: textKeyOf(message),
      },
    }));
  };
  const handleAll: Subscriber['handleAll'] = async (events, quantum) => {
    const all: CausedNotification[] = [];
    for (const event of events) for (const each of await notificationsOf(event)) all.push(each);
    await raiseAll(deps.streams, all, quantum);
  };
  return {
    name: 'mention-notifier',
    types: [MessageSent.type],
    handle: (event, quantum) => handleAll([event], quantum),
    handleAll,
  };
};
