import { NoteAdded } from '../../domain/entities/record-events.ts';
import { snippetSource } from '../../domain/messaging/mentions.ts';
import { inboxDecider, raiseNotification } from '../../domain/notifications/inbox.ts';
import { dataOf } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import { uuidFromName } from '../request-context.ts';
import type { Subscriber } from '../subscriber.ts';
import { causeOf } from './cause.ts';

/**
 * Raises a notification for everybody a note mentions (decisions, section 4). The id is made from note and recipient,
 * and the causation is the note's event: handled twice, it notifies once.
 */
export const noteNotifier = (deps: { readonly commands: CommandHandler }): Subscriber => ({
  name: 'note-notifier',
  types: [NoteAdded.type],
  handle: async (event) => {
    const note = dataOf(NoteAdded, event);
    if (note === undefined) return;
    for (const recipientId of note.mentioned_user_ids) {
      await deps.commands.execute({
        tenantId: event.tenantId,
        decider: inboxDecider,
        id: recipientId,
        cause: causeOf(event),
        again: { after: event.position },
        decide: () =>
          raiseNotification({
            notificationId: uuidFromName(`note\n${event.tenantId}/note-${note.note_id}\n${recipientId}`),
            recipientId,
            kind: 'note_mention',
            actorId: note.author_user_id ?? note.author.id,
            subject: { kind: 'entity', id: note.record_id },
            noteId: note.note_id,
            snippet: snippetSource(note.body),
            snippetKey: `note-${note.note_id}`,
          }),
      });
    }
  },
});
