import { z } from 'zod';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Workflows } from '../../../application/workflow/workflows.ts';
import { invalidAt } from '../../../domain/core/errors.ts';
import { iso } from '../../../domain/core/projection.ts';
import {
  definitionShape,
  sameDefinition,
  workflowDefinition,
  workflowName,
} from '../../../domain/workflow/definition.ts';
import { type WorkflowDoc, workflowByName, workflowsOf } from '../../../projections/workflow/workflows.ts';
import { pageInParts } from '../../http/page-parts.ts';
import type { Reply, Route } from '../../http/route.ts';
import { ownTenant, timestamp } from '../../http/schemas.ts';
import { creation, found, isoOrNull, listReply, ok, one, pagedList } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly readModels: ReadModels;
  readonly workflows: Workflows;
}

const BASE = '/api/v1/tenant/workflows';

const workflowView = z
  .object({
    name: z.string(),
    status: z.enum(['draft', 'published']).meta({
      description: 'Status of the definition shown: `draft` until it is published.',
    }),
    version: z.int().nonnegative().meta({ description: 'The newest published version; 0 before the first.' }),
    ...definitionShape,
    published: z
      .object({ version: z.int(), ...definitionShape })
      .optional()
      .meta({ description: 'While a newer draft is shown: the version that new jobs start with.' }),
    published_at: timestamp.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Workflow' });

const viewOf = (doc: WorkflowDoc): z.output<typeof workflowView> => {
  const { draft, published, version } = doc;
  const isCurrent = published !== null && sameDefinition(draft, published);
  return {
    name: doc.name,
    status: isCurrent ? 'published' : 'draft',
    version,
    ...draft,
    ...(published === null || isCurrent ? {} : { published: { version, ...published } }),
    published_at: doc.published_at,
    created_at: doc.created_at,
    updated_at: doc.updated_at,
  };
};

const reply = (status: number, { workflow, position }: Awaited<ReturnType<Workflows['create']>>): Reply => {
  const doc = {
    name: workflow.name,
    draft: workflow.draft,
    published: workflow.published ?? null,
    version: workflow.versions.length,
    published_at: isoOrNull(workflow.publishedAt),
    created_at: iso(workflow.createdAt),
    updated_at: iso(workflow.updatedAt),
  };
  return { status, body: viewOf(doc), position };
};

const nameParams = z.object({ name: workflowName });

/** Workflows: drafts, and versions that never change (decisions, section 6, Workflow). */
export const workflowRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('workflows');

  return tagged('Workflows', [
    scopedRoute({
      ...creation(workflowView, z.strictObject({ name: workflowName, ...definitionShape, ...ownTenant })),
      path: BASE,
      operationId: 'createWorkflow',
      summary: 'Create a workflow with its first draft',
      description: 'A draft may be incomplete; it is checked when it is published.',
      scope: 'workflow:admin',
      roles: ['admin'],
      errors: ['already_exists'],
      handle: async ({ principal, body: { name, tenant_id: _own, ...definition }, context }) =>
        reply(201, await deps.workflows.create(principal.tenantId, name, definition, context)),
    }),

    scopedRoute({
      ...pagedList(workflowView),
      path: BASE,
      operationId: 'listWorkflows',
      expensive: true,
      summary: 'The workflows of the tenant, oldest first',
      description: 'Each with its newer draft, otherwise with its published definition.',
      scope: 'workflow:read',
      reads: ['workflows'],
      handle: ({ principal: { tenantId }, query }) =>
        listReply(query, (page) =>
          pageInParts(page, timeSlices.of(tenantId, 'listWorkflows'), async (part) => {
            const { docs, next } = await workflowsOf(reader, tenantId, part);
            return { docs: docs.map(viewOf), next };
          }),
        ),
    }),

    scopedRoute({
      ...one('get', workflowView, nameParams),
      path: `${BASE}/:name`,
      operationId: 'getWorkflow',
      summary: 'One workflow: its newer draft, otherwise the published definition',
      description: '`version` is the newest published version, with which new jobs start.',
      scope: 'workflow:read',
      reads: ['workflows'],
      handle: async ({ principal, params }) =>
        ok(viewOf(found(await workflowByName(reader, principal.tenantId, params.name)))),
    }),

    scopedRoute({
      ...one('put', workflowView, nameParams),
      path: `${BASE}/:name`,
      operationId: 'saveWorkflowDraft',
      summary: 'Save the next draft; the published version does not change',
      description: 'Replaces the draft. Jobs are not affected until it is published.',
      scope: 'workflow:admin',
      roles: ['admin'],
      body: workflowDefinition.extend({ name: workflowName.optional(), ...ownTenant }),
      handle: async ({
        principal,
        params: { name },
        body: { name: given, tenant_id: _own, ...definition },
        context,
      }) => {
        if (given !== undefined && given !== name)
          throw invalidAt('name', 'invalid_value', 'A workflow cannot be renamed.');
        return reply(200, await deps.workflows.save(principal.tenantId, name, definition, context));
      },
    }),

    scopedRoute({
      ...one('post', workflowView, nameParams),
      path: `${BASE}/:name/publish`,
      operationId: 'publishWorkflow',
      expensive: true,
      summary: 'Publish the draft as the next version; running jobs stay on their version',
      description:
        'Checks that every state can be reached, and that guards fit the fields of the entities that use ' +
        'the workflow. Running jobs stay on the version with which they started.',
      scope: 'workflow:admin',
      roles: ['admin'],
      errors: ['constraint_violated', 'conflict'],
      // Waits for the read model that tells which entities use the workflow.
      reads: ['entities'],
      handle: async ({ principal: { tenantId }, params, context }) =>
        reply(200, await deps.workflows.publish(tenantId, params.name, context)),
    }),
  ]);
};
