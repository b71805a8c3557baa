import { Readable } from 'node:stream';
import { z } from 'zod';
import type { BulkRequest, BulkSessions, CurrentSession } from '../../../application/bulk/sessions.ts';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import { sessionIn } from '../../../domain/bulk/session.ts';
import type { OpParams, RowError } from '../../../domain/bulk/session-events.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { isStorableText } from '../../../domain/core/text.ts';
import type { JsonValue } from '../../../domain/entities/fields.ts';
import { jsonProblem } from '../../../domain/entities/values.ts';
import type { Plan } from '../../../domain/tenancy/tenant.ts';
import { type BulkPreviewDoc, bulkPreviewOf, bulkSessionsOf } from '../../../projections/bulk/bulk.ts';
import { CSV_TYPE, csvRows } from '../../http/csv.ts';
import { pageInParts } from '../../http/page-parts.ts';
import type { Route } from '../../http/route.ts';
import { idParams, text } from '../../http/schemas.ts';
import { creation, download, listReply, one, pagedList, textAnswer } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';
import { sessionView, viewOf } from './bulk-views.ts';
import { checkedIds, MAX_GIVEN_IDS, rowIds } from './row-ids.ts';

interface Deps {
  readonly bulk: BulkSessions;
  readonly readModels: ReadModels;
  readonly schemas: Schemas;
  /** Counts the rows of a preview before they are frozen. @throws {DomainError} `rate_limited` */
  readonly takePreviewRows: (tenantId: string, plan: Plan, rows: number) => void;
}

const BASE = '/api/v1/tenant/bulk-ops';
const SESSIONS = `${BASE}/sessions`;
const READS = ['bulk'];

/** 8 MiB: a preview may name 200,000 ids, repetitions included. */
const BODY_LIMIT = 8 * 1_048_576;
/** Maximum of ids, and of errors, of each session in the list. */
const IN_LIST = 100;
const MAX_FIELDS = 500;

const isKeepable = (value: unknown): boolean =>
  typeof value === 'string' ? isStorableText(value) : jsonProblem(value) === undefined;

/** Kept exactly as sent; the entity's field decides which values it accepts. */
const newValue = z
  .unknown()
  .refine((value) => value !== undefined, 'new_value is required; null clears.')
  .refine((value) => value === undefined || isKeepable(value), 'The value cannot be stored.')
  .meta({ description: 'A value of the field’s type; null clears.' });

const opParams = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('edit'),
    fields: listOf(z.strictObject({ field_key: text({ max: 200 }), new_value: newValue }), {
      min: 1,
      max: MAX_FIELDS,
    }).refine(
      (fields) => new Set(fields.map(({ field_key }) => field_key)).size === fields.length,
      'A field may be named once.',
    ),
  }),
  z.strictObject({ kind: z.literal('delete') }),
  z.strictObject({ kind: z.literal('transition'), event_name: text({ max: 200 }) }),
]);

/** Passes every key to the filter, even `__proto__`: a filter that lost a key would select more rows. */
const filterExpr = z
  .unknown()
  .refine(
    (value) =>
      typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value)),
    'A filter must be a string or an object.',
  )
  .meta({
    description: 'An expression, or its object form.',
    override: { anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: true }] },
  });

const selection = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('ids'), ids: rowIds }),
  z.strictObject({
    kind: z.literal('filter'),
    filter_expr: filterExpr,
    count_at_preview: z.int().nonnegative().nullish(),
  }),
]);

const previewBody = z
  .object({
    entity_name: text({ max: 200 }),
    operation: z.enum(['edit', 'delete', 'transition']),
    selection,
    op_params: opParams,
  })
  .refine(({ operation, op_params }) => operation === op_params.kind, {
    path: ['op_params', 'kind'],
    message: 'op_params.kind must be equal to operation.',
  });

const requestOf = async (tenantId: string, body: z.output<typeof previewBody>): Promise<BulkRequest> => {
  const { entity_name: entityName, op_params, selection: chosen } = body;
  return {
    entityName,
    // Each new value was checked to be JSON.
    opParams: op_params as OpParams,
    selection:
      chosen.kind === 'ids'
        ? { kind: 'ids', ids: await checkedIds(tenantId, chosen.ids) }
        : {
            kind: 'filter',
            // The filter was just parsed from JSON.
            filterExpr: chosen.filter_expr as JsonValue,
            countAtPreview: chosen.count_at_preview ?? undefined,
          },
  };
};

/** Bulk operations (specification, Bulk operations; decisions, section 5). */
export const bulkRoutes = (deps: Deps): Route[] => {
  const { bulk, readModels, schemas, takePreviewRows } = deps;
  const reader = readModels.reader('bulk');

  /** The stored preview. It never changes, but another process may have just made it. */
  const previewOf = async (
    tenantId: string,
    id: string,
    position: Position | undefined,
  ): Promise<BulkPreviewDoc> => {
    let doc = await bulkPreviewOf(reader, tenantId, id);
    if (doc === undefined) {
      await readModels.waitFor(tenantId, READS, position);
      doc = await bulkPreviewOf(reader, tenantId, id);
    }
    if (doc === undefined) throw new Error(`the preview of session ${id} was not folded`);
    return doc;
  };

  const view = async (tenantId: string, { session, position }: CurrentSession) => {
    const preview = await previewOf(tenantId, session.id, position);
    return viewOf(session, preview, await schemas.fieldsOf(tenantId, session.entityName));
  };

  return tagged('Bulk operations', [
    adminRoute({
      ...creation(sessionView, previewBody),
      path: `${BASE}/preview`,
      operationId: 'previewBulkOperation',
      expensive: true,
      summary:
        'Preview a bulk operation: the dry-run outcome for each selected record; freezes the selection',
      description:
        'Nothing is changed yet. The session holds the selected rows, at most 100,000, and the dry-run ' +
        'outcome of each. Commit or cancel it afterwards.',
      bodyLimit: BODY_LIMIT,
      valueLimit: MAX_GIVEN_IDS + 10_000,
      errors: ['invalid_filter', 'conflict'],
      reads: ['records', 'entities', 'bulk'],
      handle: async ({ principal: { tenantId, rights }, body: asked, context }) => {
        const admit = (rows: number): void => takePreviewRows(tenantId, rights.plan, rows);
        const made = await bulk.preview(tenantId, await requestOf(tenantId, asked), context, admit);
        const { session, position, shown } = made;
        const fields = await schemas.fieldsOf(tenantId, session.entityName);
        const body = shown === undefined ? await view(tenantId, made) : viewOf(session, shown, fields);
        return { status: 201, body, position };
      },
    }),

    adminRoute({
      ...pagedList(sessionView),
      path: SESSIONS,
      operationId: 'listBulkSessions',
      expensive: true,
      summary: 'Bulk sessions, newest first, each with at most 100 ids and errors',
      description: 'Sessions of all admins of the tenant.',
      reads: READS,
      handle: ({ principal: { tenantId }, query }) =>
        listReply(query, (page) =>
          pageInParts(page, timeSlices.of(tenantId, 'listBulkSessions'), async (part) => {
            const { docs, next } = await bulkSessionsOf(reader, tenantId, part);
            const views = docs.map(async ({ id, session: stored }) => {
              const session = sessionIn(stored);
              const fields = await schemas.fieldsOf(tenantId, session.entityName);
              return viewOf(session, await previewOf(tenantId, id, undefined), fields, IN_LIST);
            });
            return { docs: await Promise.all(views), next };
          }),
        ),
    }),

    adminRoute({
      ...one('get', sessionView, idParams),
      path: `${SESSIONS}/:id`,
      operationId: 'getBulkSession',
      summary: 'A session with its preview and, once it has ended, its result',
      description:
        'Poll it after a commit of 1,000 rows or more, until `status` is `committed` or `errored`; ' +
        '`progress` counts rows until then.',
      reads: READS,
      handle: async ({ principal: { tenantId }, params }) => {
        const now = await bulk.session(tenantId, params.id);
        // Once a caller has seen that the session ended, the caller's later reads wait for this position.
        const position = now.session.status === 'committing' ? undefined : now.position;
        return { status: 200, body: await view(tenantId, now), position };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${SESSIONS}/:id/commit`,
      operationId: 'commitBulkSession',
      summary: 'Commit a previewed session: up to 999 rows within the request, otherwise in the background',
      description:
        'Each row passes the same checks as a single change. Rows that cannot be changed are counted in ' +
        '`result.errored` and do not stop the others. From 1,000 rows on the answer is 202, and the ' +
        'commit continues in the background.',
      params: idParams,
      responses: { 200: sessionView, 202: sessionView },
      errors: ['invalid_transition'],
      reads: ['records', 'bulk'],
      handle: async ({ principal: { tenantId }, params, context }) => {
        const now = await bulk.commit(tenantId, params.id, context);
        const status = now.session.status === 'committing' ? 202 : 200;
        return { status, body: await view(tenantId, now), position: now.position };
      },
    }),

    adminRoute({
      ...one('post', sessionView, idParams),
      path: `${SESSIONS}/:id/cancel`,
      operationId: 'cancelBulkSession',
      summary: 'Cancel a previewed session',
      description: 'Only a session that is `previewed` can be cancelled.',
      errors: ['invalid_transition'],
      reads: READS,
      handle: async ({ principal: { tenantId }, params, context }) => {
        const now = await bulk.cancel(tenantId, params.id, context);
        return { status: 200, body: await view(tenantId, now), position: now.position };
      },
    }),

    adminRoute({
      ...textAnswer('text/csv'),
      path: `${SESSIONS}/:id/errors.csv`,
      operationId: 'getBulkErrors',
      expensive: true,
      summary: 'All errors of rows in the order of the preview; after the commit has ended, its errors',
      description:
        'Columns `record_id`, `current_state`, `code`, `message`; the session itself shows the first 1,000.',
      params: idParams,
      handle: async ({ principal: { tenantId }, params }) => {
        const errors = await bulk.errors(tenantId, params.id);
        return download('errors.csv', CSV_TYPE, Readable.from(csvOf(tenantId, errors)));
      },
    }),
  ]);
};

const COLUMNS = ['record_id', 'current_state', 'code', 'message'] as const;
/** Rows written in one step. */
const STEP = 200;

async function* csvOf(tenantId: string, errors: readonly RowError[]): AsyncGenerator<string> {
  yield csvRows([COLUMNS]);
  const slice = timeSlices.of(tenantId, 'getBulkErrors');
  for (let at = 0; at < errors.length; at += STEP) {
    await slice.pause();
    const rows = errors.slice(at, at + STEP);
    yield csvRows(rows.map((error) => COLUMNS.map((column) => error[column])));
  }
}
