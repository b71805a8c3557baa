import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import { sortedPage } from '../../../application/core/projections/sorted-pages.ts';
import type { Records } from '../../../application/entities/records.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import type { Clock, Ids } from '../../../application/ports/clock.ts';
import { specsOf } from '../../../application/workflow/workflow-uses.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import { recordById, searchRecordsOf } from '../../../projections/entities/records.ts';
import { decodeCursor, listName, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, uuid } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';
import { ENTITIES, entityParams } from './entities.ts';
import { docView, etagOf, ifMatch, liveView, recordBody, recordView } from './record-requests.ts';

interface Deps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly records: Records;
  readonly schemas: Schemas;
}

/** Records (decisions, section 6, Record). */

const BASE = `${ENTITIES}/:name/records`;
const TAG = 'Records';
const READS = ['records'];

export const recordParams = entityParams.extend({ id: uuid });

export const recordRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('records');

  return [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'createRecord',
      summary: 'Create a record; defaults are filled in',
      tag: TAG,
      scope: 'data:write',
      params: entityParams,
      body: recordBody,
      responses: { 201: recordView },
      honoursIfMatch: true,
      errors: ['constraint_violated', 'conflict'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { values } = request.body;
        const context = contextOf(deps, request);
        const { record, position } = await deps.records.create(
          tenantId,
          request.params.name,
          values,
          context,
        );
        return { status: 201, body: liveView(record), headers: etagOf(record), position };
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listRecords',
      summary: 'Records of an entity, newest first, or filtered and sorted',
      tag: TAG,
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
        limit: limit(),
        cursor,
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
        const selected = {
          filter: query.filter === undefined ? undefined : parseFilterText(query.filter, specs),
          sort,
          now: deps.clock.now(),
          limit: query.limit,
        };
        const page = await sortedPage({
          sort,
          after: decodeCursor(query.cursor, list),
          read: (id) => recordById(reader, tenantId, params.name, id),
          search: (after) => searchRecordsOf(reader, tenantId, params.name, { ...selected, after }),
        });
        return { status: 200, body: page.docs.map(docView), next: nextPage(page.next, list) };
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getRecord',
      summary: 'A record',
      tag: TAG,
      scope: 'data:read',
      params: recordParams,
      responses: { 200: recordView },
      reads: READS,
      handle: async ({ principal, params }) => {
        const doc = await recordById(reader, principal.tenantId, params.name, params.id);
        if (doc === undefined) throw notFound();
        return { status: 200, body: docView(doc), headers: etagOf(doc) };
      },
    }),

    scopedRoute({
      method: 'patch',
      path: `${BASE}/:id`,
      operationId: 'changeRecord',
      summary: 'Change values of a record; null clears, equal values change nothing',
      tag: TAG,
      scope: 'data:write',
      params: recordParams,
      body: recordBody,
      responses: { 200: recordView },
      honoursIfMatch: true,
      errors: ['constraint_violated', 'conflict'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { name, id } = request.params;
        const command = { values: request.body.values, ifVersion: ifMatch(request.headers) };
        const context = contextOf(deps, request);
        const { record, position } = await deps.records.update(tenantId, name, id, command, context);
        return { status: 200, body: liveView(record), headers: etagOf(record), position };
      },
    }),

    scopedRoute({
      method: 'delete',
      path: `${BASE}/:id`,
      operationId: 'deleteRecord',
      summary: 'Delete a record; what points to it is cleared, goes along, or stands against it',
      tag: TAG,
      scope: 'data:write',
      params: recordParams,
      responses: { 204: null },
      honoursIfMatch: true,
      errors: ['in_use', 'conflict', 'read_model_behind'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { name, id } = request.params;
        const command = { ifVersion: ifMatch(request.headers) };
        const context = contextOf(deps, request);
        const position = await deps.records.delete(tenantId, name, id, command, context);
        return { status: 204, position };
      },
    }),
  ];
};
