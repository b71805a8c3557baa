import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { RecordNotes } from '../../../application/entities/record-notes.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import { iso } from '../../../domain/core/projection.ts';
import { storedMentions, toBody } from '../../../domain/messaging/mentions.ts';
import { type NoteDoc, notesOf, recordById } from '../../../projections/entities/records.ts';
import type { Route } from '../../http/route.ts';
import { filledText, timestamp } from '../../http/schemas.ts';
import { creation, found, listReply, pagedList } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';
import { ENTITIES } from './entities.ts';
import { recordParams } from './records.ts';

interface Deps {
  readonly directory: Directory;
  readonly notes: RecordNotes;
  readonly readModels: ReadModels;
}

const BASE = `${ENTITIES}/:name/records/:id/notes`;

const noteView = z
  .object({
    id: z.string(),
    body: z.string(),
    author_user_id: z.string().nullable().meta({
      description:
        'The person who wrote the note, or who loaded the extension that wrote it; null for an API token.',
    }),
    author: z.object({ kind: z.string(), id: z.string() }),
    created_at: timestamp,
  })
  .meta({ id: 'Note' });

/** Notes on records (decisions, sections 4 and 6). */
export const noteRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('records');

  const viewsOf = async (tenantId: string, notes: readonly Omit<NoteDoc, 'record_id' | 'seq'>[]) => {
    const nameOf = await deps.directory.names(
      tenantId,
      notes.flatMap(({ body }) => storedMentions(body)),
    );
    return notes.map(({ id, body: stored, author, author_user_id, created_at }) => {
      const body = toBody(stored, nameOf);
      return { id, body, author_user_id, author, created_at };
    });
  };

  return tagged('Notes', [
    scopedRoute({
      ...creation(noteView, z.object({ body: filledText(10_000, 'The body must not be blank.') })),
      path: BASE,
      operationId: 'addNote',
      summary: 'Add a note to a record and notify the people that it mentions',
      description: 'A mention is written `@[name](user:<id>)`, as in a message.',
      scope: 'data:write',
      params: recordParams,
      handle: async ({ principal: { tenantId }, params: { name, id }, body, context }) => {
        const { note, at, position } = await deps.notes.add(tenantId, name, id, body.body, context);
        const [view] = await viewsOf(tenantId, [{ ...note, id: note.note_id, created_at: iso(at) }]);
        return {
          status: 201,
          body: view,
          position,
          personal: storedMentions(note.body).map((userId) => personKeyId(tenantId, userId)),
        };
      },
    }),

    scopedRoute({
      ...pagedList(noteView),
      path: BASE,
      operationId: 'listNotes',
      summary: 'Notes of a record, oldest first',
      description: 'The notes of people, extensions and API tokens about the record.',
      scope: 'data:read',
      params: recordParams,
      reads: ['records'],
      handle: async ({ principal, params, query }) => {
        const { tenantId } = principal;
        found(await recordById(reader, tenantId, params.name, params.id));
        return listReply(query, async (asked) => {
          const page = await notesOf(reader, tenantId, params.id, asked);
          return { ...page, docs: await viewsOf(tenantId, page.docs) };
        });
      },
    }),
  ]);
};
