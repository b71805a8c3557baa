import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { entityChange, newEntity } from '../../../domain/entities/definition.ts';
import { isName, storedField } from '../../../domain/entities/fields.ts';
import type { EntitySchema } from '../../../domain/entities/schema.ts';
import { type EntityDoc, entitiesOf, entityByName } from '../../../projections/entities/entities.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, timestamp } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly schemas: Schemas;
}

/** Schemas of entities (decisions, section 6). */

export const ENTITIES = '/api/v1/tenant/entities';
const TAG = 'Entities';
const READS = ['entities'];

/** `tenant_id` is checked before the shape of the body, so the own tenant may be named. */
const tenantId = { tenant_id: z.unknown().optional() };

const entityView = z
  .object({
    name: z.string(),
    label: z.string(),
    fields: z.array(storedField),
    workflow: z.string().nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Entity' });

const viewOf = (doc: EntityDoc): z.output<typeof entityView> => ({
  name: doc.name,
  label: doc.label,
  fields: [...doc.fields],
  workflow: doc.workflow,
  created_at: doc.created_at,
  updated_at: doc.updated_at,
});

const stateView = ({ name, label, fields, workflow, createdAt, updatedAt }: EntitySchema) => ({
  name,
  label,
  fields: [...fields],
  workflow,
  created_at: new Date(createdAt).toISOString(),
  updated_at: new Date(updatedAt).toISOString(),
});

/** `:name` of an entity; an invalid name is a 404 like an unknown one. */
export const entityParams = z.object({ name: z.string().refine(isName) });

export const entityRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('entities');

  return [
    scopedRoute({
      method: 'post',
      path: ENTITIES,
      operationId: 'defineEntity',
      summary: 'Define an entity with its fields',
      tag: TAG,
      scope: 'data:write',
      roles: ['admin'],
      body: newEntity.extend(tenantId),
      responses: { 201: entityView },
      errors: ['already_exists', 'constraint_violated'],
      handle: async (request) => {
        const { tenantId: tenant } = request.principal;
        const { tenant_id: _checked, ...entity } = request.body;
        const defined = await deps.schemas.define(tenant, entity, contextOf(deps, request));
        return { status: 201, body: stateView(defined.entity), position: defined.position };
      },
    }),

    scopedRoute({
      method: 'get',
      path: ENTITIES,
      operationId: 'listEntities',
      summary: 'The tenant’s entities, oldest first',
      tag: TAG,
      scope: 'data:read',
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(entityView) },
      reads: READS,
      handle: async ({ principal, query }) => {
        const after = decodeCursor(query.cursor);
        const page = await entitiesOf(reader, principal.tenantId, { limit: query.limit, after });
        return { status: 200, body: page.docs.map(viewOf), next: nextPage(page.next) };
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${ENTITIES}/:name`,
      operationId: 'getEntity',
      summary: 'An entity and its fields',
      tag: TAG,
      scope: 'data:read',
      params: entityParams,
      responses: { 200: entityView },
      reads: READS,
      handle: async ({ principal, params }) => {
        const doc = await entityByName(reader, principal.tenantId, params.name);
        if (doc === undefined) throw notFound();
        return { status: 200, body: viewOf(doc) };
      },
    }),

    scopedRoute({
      method: 'patch',
      path: `${ENTITIES}/:name`,
      operationId: 'changeEntity',
      summary: 'Change an entity; `fields` is the full list',
      tag: TAG,
      scope: 'data:write',
      roles: ['admin'],
      params: entityParams,
      body: entityChange.extend(tenantId),
      responses: { 200: entityView },
      errors: ['constraint_violated', 'in_use', 'conflict', 'read_model_behind'],
      handle: async (request) => {
        const { tenantId: tenant } = request.principal;
        const { tenant_id: _checked, ...change } = request.body;
        const context = contextOf(deps, request);
        const changed = await deps.schemas.change(tenant, request.params.name, change, context);
        return { status: 200, body: stateView(changed.entity), position: changed.position };
      },
    }),
  ];
};
