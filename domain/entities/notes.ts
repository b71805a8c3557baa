import { invalidAt, notFound } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import { codePoints, isStorableText } from '../core/text.ts';
import { NoteAdded, type RecordEvent, type RecordState } from './record.ts';

/** Notes on records (specification, Entity note; decisions, section 6). */

const MAX_NOTE = 10_000;

interface AddNote {
  readonly noteId: string;
  readonly author: { readonly kind: string; readonly id: string };
  readonly authorUserId: string | null;
  /** Stored form, with mentions as ids. */
  readonly body: string;
  readonly mentioned: readonly string[];
}

/** Same rules as a message: storable text of 1 to 10,000 code points, not blank. @throws `validation_failed` */
export const checkNote = (body: string): void => {
  const issue = (code: string, message: string) => invalidAt('body', code, message);
  if (body.trim() === '') throw issue('too_small', 'The body must not be blank.');
  if (codePoints(body) > MAX_NOTE) throw issue('too_big', `The body has at most ${MAX_NOTE} characters.`);
  if (!isStorableText(body)) throw issue('custom', 'The body contains a character that cannot be stored.');
};

/** @throws `not_found` */
export const addNote = (state: RecordState, entityName: string, note: AddNote): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== entityName) throw notFound();
  return decided(NoteAdded, {
    record_id: state.id,
    entity_name: state.entityName,
    note_id: note.noteId,
    author_user_id: note.authorUserId,
    author: { ...note.author },
    body: note.body,
    mentioned_user_ids: [...note.mentioned],
  });
};
