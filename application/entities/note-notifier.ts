import { NoteAdded } from '../../domain/entities/record.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { inboxStream, raiseNotification } from '../../domain/notifications/inbox.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';

/**
 * Raises a notification for each person mentioned in a note (decisions, section 4). Ids derive from note and recipient
 * and the causation is the note's event, so that a repeat has no effect.
 */
export const noteNotifier = (deps: { readonly streams: Streams }): Subscriber => ({
  name: 'note-notifier',
  types: [NoteAdded.type],
  handle: async (event) => {
    const note = dataOf(NoteAdded, event);
    if (note === undefined) return;
    for (const recipientId of note.mentioned_user_ids) {
      await deps.streams
        .of(inboxStream, event.tenantId, recipientId)
        .execute({ cause: causeOf(event), priorAttempt: { after: event.position } }, () =>
          raiseNotification({
            notification_id: uuidFromName(`note\n${event.tenantId}/note-${note.note_id}\n${recipientId}`),
            recipient_user_id: recipientId,
            kind: 'note_mention',
            actor_user_id: note.author_user_id ?? note.author.id,
            subject_kind: 'entity',
            subject_id: note.record_id,
            note_id: note.note_id,
            snippet: snippetSource(note.body),
            snippet_key: `note-${note.note_id}`,
          }),
        );
    }
  },
});
