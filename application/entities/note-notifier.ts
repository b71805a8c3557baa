import { NoteAdded } from '../../domain/entities/record.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import { type CausedNotification, raiseAll } from '../notifications/raising.ts';

/**
 * Raises a notification for each person mentioned in a note (decisions, section 4). Ids derive from note and recipient,
 * so that a repeat has no effect.
 */
export const noteNotifier = (deps: { readonly streams: Streams }): Subscriber => {
  const notificationsOf = (event: LoggedEvent): readonly CausedNotification[] => {
    const note = dataOf(NoteAdded, event);
    if (note === undefined) return [];
    const snippet = snippetSource(note.body);
    return note.mentioned_user_ids.map((recipientId) => ({
      event,
      data: {
        notification_id: uuidFromName(`note\n${event.tenantId}/note-${note.note_id}\n${recipientId}`),
        recipient_user_id: recipientId,
        kind: 'note_mention',
        actor_user_id: note.author_user_id ?? note.author.id,
        subject_kind: 'entity',
        subject_id: note.record_id,
        note_id: note.note_id,
        snippet,
        snippet_key: `note-${note.note_id}`,
      },
    }));
  };
  const handleAll: Subscriber['handleAll'] = (events, quantum) =>
    raiseAll(deps.streams, events.flatMap(notificationsOf), quantum);
  return {
    name: 'note-notifier',
    types: [NoteAdded.type],
    handle: (event, quantum) => handleAll([event], quantum),
    handleAll,
  };
};
