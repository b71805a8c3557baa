import type { EventOf } from '../../domain/core/event.ts';
import { addNote, checkNote } from '../../domain/entities/notes.ts';
import { type NoteAdded, recordStream } from '../../domain/entities/record.ts';
import { mentionedIds, toStoredText } from '../../domain/messaging/mentions.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Actor } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import { USER_ID } from '../identity/authentication-claims.ts';
import type { Directory } from '../identity/directory.ts';

/** Use cases on the notes of records (decisions, section 6). */
export class RecordNotes extends WithDeps<{ streams: Streams; directory: Directory }> {
  /** @throws `validation_failed`, `not_found` */
  async add(
    tenantId: string,
    entityName: string,
    recordId: string,
    body: string,
    context: RequestContext,
  ): Promise<Written<{ note: EventOf<typeof NoteAdded>['data']; at: number }>> {
    checkNote(body);
    const { actor } = context.cause;
    const authorUserId = personBehind(actor);
    const named = mentionedIds(body).filter((id) => USER_ID.test(id));
    const users = await this.deps.directory.freshUsers(tenantId, named);
    const noteId = context.newId();
    const outcome = await this.deps.streams.of(recordStream, tenantId, recordId).execute(context, (state) =>
      addNote(state, entityName, {
        noteId,
        author: { kind: actor.kind, id: actor.id },
        authorUserId,
        body: toStoredText(body, new Set(users.keys())),
        mentioned: [...users.values()]
          .filter(({ id, status }) => status === 'active' && id !== authorUserId)
          .map(({ id }) => id),
      }),
    );
    const added = outcome.events.at(-1);
    if (added?.type !== 'NoteAdded') throw new Error('the command left no note');
    return { note: added.data, at: added.at, position: outcome.position };
  }
}

/** The author, or the person who loaded the extension; null for an API token, which belongs to the tenant. */
const personBehind = ({ kind, id, user_id: userId }: Actor): string | null => {
  if (kind === 'user') return id;
  return kind === 'extension' ? (userId ?? null) : null;
};
