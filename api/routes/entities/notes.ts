import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { RecordNotes } from '../../../application/entities/record-notes.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { storedMentions, toBody } from '../../../domain/messaging/mentions.ts';
import { type NoteDoc, notesOf, recordById } from '../../../projections/entities/records.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, text, timestamp } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';
import { ENTITIES } from './entities.ts';
import { recordParams } from './records.ts';

interface Deps {
  readonly directory: Directory;
  readonly ids: Ids;
  readonly notes: RecordNotes;
  readonly readModels: ReadModels;
}

/** Notes on records (decisions, sections 4 and 6). */

const BASE = `${ENTITIES}/:name/records/:id/notes`;
const TAG = 'Notes';

const noteView = z
  .object({
    id: z.string(),
    body: z.string(),
    author_user_id: z.string().nullable().meta({
      description: 'Who wrote it, or loaded the extension that did; null for an API token.',
    }),
    author: z.object({ kind: z.string(), id: z.string() }),
    created_at: timestamp,
  })
  .meta({ id: 'Note' });

export const noteRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('records');

  const viewsOf = async (tenantId: string, notes: readonly Omit<NoteDoc, 'record_id' | 'seq'>[]) => {
    const nameOf = await deps.directory.names(
      tenantId,
      notes.flatMap(({ body }) => storedMentions(body)),
    );
    return notes.map(({ id, body, author, author_user_id, created_at }) => ({
      id,
      body: toBody(body, nameOf),
      author_user_id,
      author: { ...author },
      created_at,
    }));
  };

  return [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'addNote',
      summary: 'Add a note to a record; everybody it mentions is notified',
      tag: TAG,
      scope: 'data:write',
      params: recordParams,
      body: z.object({
        body: text({ max: 10_000 }).refine(
          (body) => body.trim() !== '',
          'The body must hold more than white space.',
        ),
      }),
      responses: { 201: noteView },
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { name, id } = request.params;
        const note = await deps.notes.add(tenantId, name, id, request.body.body, contextOf(deps, request));
        const [view] = await viewsOf(tenantId, [
          {
            id: note.id,
            body: note.body,
            author: note.author,
            author_user_id: note.authorUserId,
            created_at: new Date(note.createdAt).toISOString(),
          },
        ]);
        return {
          status: 201,
          body: view,
          position: note.position,
          personal: storedMentions(note.body).map((userId) => personKeyId(tenantId, userId)),
        };
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listNotes',
      summary: 'Notes of a record, oldest first',
      tag: TAG,
      scope: 'data:read',
      params: recordParams,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(noteView) },
      reads: ['records'],
      handle: async ({ principal, params, query }) => {
        const { tenantId } = principal;
        const record = await recordById(reader, tenantId, params.name, params.id);
        if (record === undefined) throw notFound();
        const after = decodeCursor(query.cursor);
        const page = await notesOf(reader, tenantId, params.id, { limit: query.limit, after });
        return { status: 200, body: await viewsOf(tenantId, page.docs), next: nextPage(page.next) };
      },
    }),
  ];
};
