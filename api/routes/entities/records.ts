import { z } from 'zod';
import { specsOf } from '../../application/workflow-uses.ts';
import { notFound } from '../../domain/errors.ts';
import { parseFilterText } from '../../domain/expressions/filter.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import { recordById, searchRecordsOf } from '../../projections/records.ts';
import { decodeCursor, listName, nextPage } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { cursor, limit, uuid } from '../http/schemas.ts';
import { type App, contextOf } from './app.ts';
import { ENTITIES, entityParams } from './entities.ts';
import { scopedRoute } from './kinds.ts';
import { docView, etagOf, ifMatch, liveView, recordBody, recordView } from './record-requests.ts';

/** Records (decisions, section 6, Record). */

const BASE = `${ENTITIES}/:name/records`;
const TAG = 'Records';
const READS = ['records'];

export const recordParams = entityParams.extend({ id: uuid });

export const recordRoutes = (app: App): Route[] => {
  const reader = app.readModels.reader('records');

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
        const context = contextOf(app, request);
        const { record, position } = await app.records.create(tenantId, request.params.name, values, context);
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
        const { fields } = await app.schemas.fresh(tenantId, params.name);
        const specs = specsOf(fields);
        const list = listName('listRecords', params.name, query.filter, query.sort);
        const page = await searchRecordsOf(reader, tenantId, params.name, {
          filter: query.filter === undefined ? undefined : parseFilterText(query.filter, specs),
          sort: query.sort === undefined ? undefined : parseSort(query.sort, specs),
          now: app.clock.now(),
          limit: query.limit,
          after: decodeCursor(query.cursor, list),
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
        const context = contextOf(app, request);
        const { record, position } = await app.records.update(tenantId, name, id, command, context);
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
        const context = contextOf(app, request);
        const position = await app.records.delete(tenantId, name, id, command, context);
        return { status: 204, position };
      },
    }),
  ];
};
