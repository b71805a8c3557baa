import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import { sortedPage } from '../../../application/core/projections/sorted-pages.ts';
import type { Records } from '../../../application/entities/records.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { specsOf } from '../../../application/workflow/workflow-uses.ts';
import type { PageRequest } from '../../../domain/core/projection.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import { recordById, searchRecordsOf } from '../../../projections/entities/records.ts';
import { listName } from '../../http/cursor.ts';
import type { Reply, Route } from '../../http/route.ts';
import { uuid } from '../../http/schemas.ts';
import { found, listReply, pageQuery } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';
import { ENTITIES, entityParams } from './entities.ts';
import { docView, etagOf, ifMatch, liveView, recordBody, recordView } from './record-requests.ts';

interface Deps {
  readonly clock: Clock;
  readonly readModels: ReadModels;
  readonly records: Records;
  readonly schemas: Schemas;
}

/** Records (decisions, section 6, Record). */

const BASE = `${ENTITIES}/:name/records`;
const READS = ['records'];

export const recordParams = entityParams.extend({ id: uuid });

const reply = (status: number, { record, position }: Awaited<ReturnType<Records['create']>>): Reply => ({
  status,
  body: liveView(record),
  headers: etagOf(record),
  position,
});

export const recordRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('records');

  return tagged('Records', [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'createRecord',
      summary: 'Create a record; defaults are filled in',
      scope: 'data:write',
      params: entityParams,
      body: recordBody,
      responses: { 201: recordView },
      honoursIfMatch: true,
      errors: ['constraint_violated', 'conflict'],
      handle: async ({ principal: { tenantId }, params, body: { values }, context }) => {
        return reply(201, await deps.records.create(tenantId, params.name, values, context));
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listRecords',
      summary: 'Records of an entity, newest first, or filtered and sorted',
      scope: 'data:read',
      params: entityParams,
      query: z.object({
        filter: z.string().optional().meta({
          description: 'An expression, or as JSON its object form.',
        }),
        sort: z
          .string()
          .max(100)
          .optional()
          .meta({ description: 'A field, with `-` in front for descending.' }),
        ...pageQuery.shape,
      }),
      responses: { 200: z.array(recordView) },
      errors: ['invalid_filter'],
      reads: READS,
      handle: async ({ principal, params, query }) => {
        const { tenantId } = principal;
        const { fields } = await deps.schemas.fresh(tenantId, params.name);
        const specs = specsOf(fields);
        const list = listName('listRecords', params.name, query.filter, query.sort);
        const sort = query.sort === undefined ? undefined : parseSort(query.sort, specs);
        const filter = query.filter === undefined ? undefined : parseFilterText(query.filter, specs);
        const selected = { filter, sort, now: deps.clock.now(), limit: query.limit };
        const find = ({ after: begin }: PageRequest) =>
          sortedPage({
            sort,
            after: begin,
            read: (id) => recordById(reader, tenantId, params.name, id),
            search: (after) => searchRecordsOf(reader, tenantId, params.name, { ...selected, after }),
          });
        return listReply(query, find, docView, list);
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getRecord',
      summary: 'A record',
      scope: 'data:read',
      params: recordParams,
      responses: { 200: recordView },
      reads: READS,
      handle: async ({ principal, params }) => {
        const doc = found(await recordById(reader, principal.tenantId, params.name, params.id));
        return { status: 200, body: docView(doc), headers: etagOf(doc) };
      },
    }),

    scopedRoute({
      method: 'patch',
      path: `${BASE}/:id`,
      operationId: 'changeRecord',
      summary: 'Change values of a record; null clears, equal values change nothing',
      scope: 'data:write',
      params: recordParams,
      body: recordBody,
      responses: { 200: recordView },
      honoursIfMatch: true,
      errors: ['constraint_violated', 'conflict'],
      handle: async ({ principal: { tenantId }, params: { name, id }, body, headers, context }) => {
        const command = { values: body.values, ifVersion: ifMatch(headers) };
        return reply(200, await deps.records.update(tenantId, name, id, command, context));
      },
    }),

    scopedRoute({
      method: 'delete',
      path: `${BASE}/:id`,
      operationId: 'deleteRecord',
      summary: 'Delete a record; what points to it is cleared, goes along, or stands against it',
      scope: 'data:write',
      params: recordParams,
      responses: { 204: null },
      honoursIfMatch: true,
      errors: ['in_use', 'conflict', 'read_model_behind'],
      handle: async ({ principal: { tenantId }, params: { name, id }, headers, context }) => {
        const command = { ifVersion: ifMatch(headers) };
        return { status: 204, position: await deps.records.delete(tenantId, name, id, command, context) };
      },
    }),
  ]);
};
