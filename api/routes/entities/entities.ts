import { z } from 'zod';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Schemas } from '../../../application/entities/schemas.ts';
import { iso } from '../../../domain/core/projection.ts';
import { entityChange, newEntity } from '../../../domain/entities/definition.ts';
import { isName, storedField } from '../../../domain/entities/fields.ts';
import { checkQuota } from '../../../domain/tenancy/quotas.ts';
import { type EntityDoc, entitiesOf, entityByName } from '../../../projections/entities/entities.ts';
import { usageOf } from '../../../projections/tenancy/usage.ts';
import { pageInParts } from '../../http/page-parts.ts';
import type { Reply, Route } from '../../http/route.ts';
import { ownTenant, timestamp } from '../../http/schemas.ts';
import { creation, found, listReply, ok, one, pagedList } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly readModels: ReadModels;
  readonly schemas: Schemas;
}

export const ENTITIES = '/api/v1/tenant/entities';
const READS = ['entities'];

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

const reply = (status: number, { entity, position }: Awaited<ReturnType<Schemas['define']>>): Reply => {
  const { name, label, fields, workflow, createdAt, updatedAt } = entity;
  const times = { created_at: iso(createdAt), updated_at: iso(updatedAt) };
  return { status, body: { name, label, fields, workflow, ...times } satisfies EntityDoc, position };
};

/** `:name` of an entity; an invalid name is a 404 like an unknown one. */
export const entityParams = z.object({ name: z.string().refine(isName) });

/** Schemas of entities (decisions, section 6). */
export const entityRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('entities');
  const usage = deps.readModels.reader('usage');

  return tagged('Entities', [
    scopedRoute({
      ...creation(entityView, newEntity.extend(ownTenant)),
      path: ENTITIES,
      operationId: 'defineEntity',
      summary: 'Define an entity with its fields',
      description:
        'Each field has a type; a field of type `reference` points to records of another entity. With ' +
        '`workflow` each new record gets a job.',
      scope: 'data:write',
      roles: ['admin'],
      errors: ['already_exists', 'constraint_violated', 'conflict', 'quota_exceeded'],
      handle: async ({ principal, body: { tenant_id: _checked, ...entity }, context }) => {
        const { tenantId, rights } = principal;
        // The entity of a repeated request may exist and be counted: at the limit, the request would be refused.
        const isRepeat =
          context.priorAttempt !== undefined &&
          (await deps.schemas.cached(tenantId, entity.name)) !== undefined;
        if (!isRepeat) {
          const { entities: used } = await usageOf(usage, tenantId);
          checkQuota('entities', rights.plan, { used, added: 1 });
        }
        return reply(201, await deps.schemas.define(tenantId, entity, context));
      },
    }),

    scopedRoute({
      ...pagedList(entityView),
      path: ENTITIES,
      operationId: 'listEntities',
      expensive: true,
      summary: 'The tenant’s entities, oldest first',
      description: 'The schemas of the tenant with their fields.',
      scope: 'data:read',
      reads: READS,
      handle: ({ principal: { tenantId }, query }) =>
        listReply(query, (page) =>
          pageInParts(page, timeSlices.of(tenantId, 'listEntities'), (part) =>
            entitiesOf(reader, tenantId, part),
          ),
        ),
    }),

    scopedRoute({
      ...one('get', entityView, entityParams),
      path: `${ENTITIES}/:name`,
      operationId: 'getEntity',
      summary: 'An entity and its fields',
      description: 'The schema of one entity.',
      scope: 'data:read',
      reads: READS,
      handle: async ({ principal, params }) =>
        ok(found(await entityByName(reader, principal.tenantId, params.name))),
    }),

    scopedRoute({
      ...one('patch', entityView, entityParams),
      path: `${ENTITIES}/:name`,
      operationId: 'changeEntity',
      summary: 'Change an entity; `fields` replaces all fields',
      description:
        'Adding fields and options is always possible. A change that stored records would break is 409 ' +
        '`in_use`.',
      scope: 'data:write',
      roles: ['admin'],
      body: entityChange.extend(ownTenant),
      errors: ['constraint_violated', 'in_use', 'conflict', 'read_model_behind'],
      handle: async ({ principal, params, body: { tenant_id: _checked, ...change }, context }) =>
        reply(200, await deps.schemas.change(principal.tenantId, params.name, change, context)),
    }),
  ]);
};
