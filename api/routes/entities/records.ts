import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import { sortedPage } from '../../../application/core/projections/sorted-pages.ts';
import type { Deletions } from '../../../application/entities/deletions.ts';
import type { Records } from '../../../application/entities/records.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { SearchGivenUp } from '../../../application/ports/searches.ts';
import { specsOf } from '../../../application/workflow/workflow-uses.ts';
import type { PageRequest } from '../../../domain/core/projection.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import { countRecordsOf, recordById, searchRecordsOf } from '../../../projections/entities/records.ts';
import { listName } from '../../http/cursor.ts';
import type { Reply, Route } from '../../http/route.ts';
import { uuid } from '../../http/schemas.ts';
import { creation, found, list, listReply, one, pageQuery, removal } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';
import { ENTITIES, entityParams } from './entities.ts';
import { docView, etagOf, ifMatch, liveView, recordBody, recordView } from './record-requests.ts';

interface Deps {
  readonly clock: Clock;
  readonly deletions: Deletions;
  readonly readModels: ReadModels;
  readonly records: Records;
  readonly schemas: Schemas;
}

const BASE = `${ENTITIES}/:name/records`;
const READS = ['records'];

export const recordParams = entityParams.extend({ id: uuid });

/** A flag of a query. */
const isTrue = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');

const recordQuery = z.object({
  filter: z.string().optional().meta({
    description: 'An expression, or its object form as JSON.',
  }),
  sort: z
    .string()
    .max(100)
    .optional()
    .meta({ description: 'A field, with the prefix `-` for descending order.' }),
  count: isTrue.meta({
    description: 'Send the number of all rows in `X-Total-Count`, if it can be counted in time.',
  }),
  explain: isTrue.meta({ description: 'Send the query plan in `X-Query-Plan`.' }),
  ...pageQuery.shape,
});

/** Time (ms) that a list's count may take. */
const COUNT_MS = 2_000;

/** Undefined when the store gave up the count (`SearchGivenUp`): the page is answered without it. */
const inTime = async (count: () => Promise<number>): Promise<number | undefined> => {
  try {
    return await count();
  } catch (error) {
    if (error instanceof SearchGivenUp) return undefined;
    throw error;
  }
};

/** Records (decisions, section 6, Record). */
export const recordRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('records');

  const reply = async (
    status: number,
    tenantId: string,
    { record, position }: Awaited<ReturnType<Records['create']>>,
  ): Promise<Reply> => ({
    status,
    body: liveView(record, await deps.schemas.fieldsOf(tenantId, record.entityName)),
    headers: etagOf(record),
    position,
  });

  return tagged('Records', [
    scopedRoute({
      ...creation(recordView, recordBody),
      path: BASE,
      operationId: 'createRecord',
      summary: 'Create a record; defaults are filled in',
      description:
        'All wrong fields are reported in one answer. With a workflow the record starts a job, whose id and ' +
        'state it shows.',
      scope: 'data:write',
      params: entityParams,
      errors: ['constraint_violated', 'conflict'],
      handle: async ({ principal: { tenantId }, params, body: { values }, context }) =>
        reply(201, tenantId, await deps.records.create(tenantId, params.name, values, context)),
    }),

    scopedRoute({
      ...list(recordView, recordQuery),
      path: BASE,
      operationId: 'listRecords',
      summary: 'Records of an entity, newest first by default, with filter and sort',
      description:
        '`filter` takes an expression such as `amount > 100 && state == "open"`; `sort` takes a field, with ' +
        '`-` for descending order.',
      scope: 'data:read',
      params: entityParams,
      errors: ['invalid_filter'],
      reads: READS,
      handle: async ({ principal, params, query }) => {
        const { tenantId } = principal;
        const { fields } = await deps.schemas.requireLatest(tenantId, params.name);
        const specs = specsOf(fields);
        const list = listName('listRecords', params.name, query.filter, query.sort);
        const sort = query.sort === undefined ? undefined : parseSort(query.sort, specs);
        const filter = query.filter === undefined ? undefined : parseFilterText(query.filter, specs);
        const selected = { filter, sort, now: deps.clock.now(), limit: query.limit };
        let plan: string | undefined;
        const find = async ({ after: begin }: PageRequest) => {
          const page = await sortedPage({
            sort,
            after: begin,
            read: (id) => recordById(reader, tenantId, params.name, id),
            search: (after) => searchRecordsOf(reader, tenantId, params.name, { ...selected, after }),
          });
          plan = page.plan;
          return page;
        };
        const reply = await listReply(query, find, (doc) => docView(doc, fields), list);
        const headers: Record<string, string> = {};
        if (query.explain && plan !== undefined) headers['X-Query-Plan'] = plan;
        if (query.count) {
          const selection = { filter, now: selected.now, withinMs: COUNT_MS };
          const total = await inTime(() => countRecordsOf(reader, tenantId, params.name, selection));
          if (total !== undefined) headers['X-Total-Count'] = String(total);
        }
        return { ...reply, headers };
      },
    }),

    scopedRoute({
      ...one('get', recordView, recordParams),
      path: `${BASE}/:id`,
      operationId: 'getRecord',
      summary: 'A record',
      description: 'Send the `ETag` as `If-Match` with a change.',
      scope: 'data:read',
      reads: READS,
      handle: async ({ principal, params }) => {
        const doc = found(await recordById(reader, principal.tenantId, params.name, params.id));
        const fields = await deps.schemas.fieldsOf(principal.tenantId, params.name);
        return { status: 200, body: docView(doc, fields), headers: etagOf(doc) };
      },
    }),

    scopedRoute({
      ...one('patch', recordView, recordParams),
      path: `${BASE}/:id`,
      operationId: 'changeRecord',
      summary: 'Change values of a record; null clears a value, equal values change nothing',
      description:
        'Send the values that change. With `If-Match`, a record that was changed in the meantime is 409 ' +
        '`conflict`.',
      scope: 'data:write',
      body: recordBody,
      honoursIfMatch: true,
      errors: ['constraint_violated', 'conflict'],
      handle: async ({ principal: { tenantId }, params: { name, id }, body, headers, context }) => {
        const command = { values: body.values, ifVersion: ifMatch(headers) };
        return reply(200, tenantId, await deps.records.update(tenantId, name, id, command, context));
      },
    }),

    scopedRoute({
      ...removal(recordParams),
      path: `${BASE}/:id`,
      operationId: 'deleteRecord',
      summary: 'Delete a record; references to it are cleared, deleted along, or prevent the deletion',
      description:
        'The reference fields of records that point to it decide: `restrict` refuses with 409 `in_use`, ' +
        '`clear` empties the field, `cascade` deletes the record. Each such change has its own event.',
      scope: 'data:write',
      honoursIfMatch: true,
      errors: ['in_use', 'conflict', 'read_model_behind'],
      handle: async ({ principal: { tenantId }, params: { name, id }, headers, context }) => {
        const command = { ifVersion: ifMatch(headers) };
        return { status: 204, position: await deps.deletions.delete(tenantId, name, id, command, context) };
      },
    }),
  ]);
};
