import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import type { Workflows } from '../../../application/workflow/workflows.ts';
import { invalid, notFound } from '../../../domain/core/errors.ts';
import {
  definitionShape,
  sameDefinition,
  workflowDefinition,
  workflowName,
} from '../../../domain/workflow/definition.ts';
import type { ExistingWorkflow } from '../../../domain/workflow/workflow.ts';
import { type WorkflowDoc, workflowByName, workflowsOf } from '../../../projections/workflow/workflows.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, timestamp } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly workflows: Workflows;
}

/** Workflows: drafts, and versions that never change (decisions, section 6, Workflow). */

const BASE = '/api/v1/tenant/workflows';
const TAG = 'Workflows';

/** `tenant_id` is checked before the shape of the body, so the own tenant may be named. */
const tenantId = { tenant_id: z.unknown().optional() };

const workflowView = z
  .object({
    name: z.string(),
    status: z.enum(['draft', 'published']).meta({
      description: 'Of the definition shown: `draft` until it is published.',
    }),
    version: z.int().nonnegative().meta({ description: 'The newest published version; 0 before the first.' }),
    ...definitionShape,
    published: z
      .object({ version: z.int(), ...definitionShape })
      .optional()
      .meta({ description: 'While a newer draft is shown: what new jobs begin with.' }),
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

const docOf = (workflow: ExistingWorkflow): WorkflowDoc => ({
  name: workflow.name,
  draft: workflow.draft,
  published: workflow.published ?? null,
  version: workflow.versions.length,
  published_at: workflow.publishedAt === undefined ? null : new Date(workflow.publishedAt).toISOString(),
  created_at: new Date(workflow.createdAt).toISOString(),
  updated_at: new Date(workflow.updatedAt).toISOString(),
});

const nameParams = z.object({ name: workflowName });

export const workflowRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('workflows');

  return [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'createWorkflow',
      summary: 'Begin a workflow with a first draft',
      tag: TAG,
      scope: 'workflow:admin',
      roles: ['admin'],
      body: z.strictObject({ name: workflowName, ...definitionShape, ...tenantId }),
      responses: { 201: workflowView },
      errors: ['already_exists'],
      handle: async (request) => {
        const { name, tenant_id: _own, ...definition } = request.body;
        const context = contextOf(deps, request);
        const made = await deps.workflows.create(request.principal.tenantId, name, definition, context);
        return { status: 201, body: viewOf(docOf(made.workflow)), position: made.position };
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listWorkflows',
      summary: 'The workflows of the tenant, oldest first',
      tag: TAG,
      scope: 'workflow:read',
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(workflowView) },
      reads: ['workflows'],
      handle: async (request) => {
        const { limit: size, cursor: at } = request.query;
        const after = decodeCursor(at);
        const page = await workflowsOf(reader, request.principal.tenantId, { limit: size, after });
        return { status: 200, body: page.docs.map(viewOf), next: nextPage(page.next) };
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/:name`,
      operationId: 'getWorkflow',
      summary: 'One workflow: its draft, or without a newer draft the published definition',
      tag: TAG,
      scope: 'workflow:read',
      params: nameParams,
      responses: { 200: workflowView },
      reads: ['workflows'],
      handle: async (request) => {
        const doc = await workflowByName(reader, request.principal.tenantId, request.params.name);
        if (doc === undefined) throw notFound();
        return { status: 200, body: viewOf(doc) };
      },
    }),

    scopedRoute({
      method: 'put',
      path: `${BASE}/:name`,
      operationId: 'saveWorkflowDraft',
      summary: 'Save the next draft; what is published stays as it is',
      tag: TAG,
      scope: 'workflow:admin',
      roles: ['admin'],
      params: nameParams,
      body: workflowDefinition.extend({ name: workflowName.optional(), ...tenantId }),
      responses: { 200: workflowView },
      handle: async (request) => {
        const { name: given, tenant_id: _own, ...definition } = request.body;
        const { name } = request.params;
        if (given !== undefined && given !== name) throw otherName();
        const context = contextOf(deps, request);
        const saved = await deps.workflows.save(request.principal.tenantId, name, definition, context);
        return { status: 200, body: viewOf(docOf(saved.workflow)), position: saved.position };
      },
    }),

    scopedRoute({
      method: 'post',
      path: `${BASE}/:name/publish`,
      operationId: 'publishWorkflow',
      expensive: true,
      summary: 'Publish the draft as the next version; jobs that run stay on theirs',
      tag: TAG,
      scope: 'workflow:admin',
      roles: ['admin'],
      params: nameParams,
      responses: { 200: workflowView },
      errors: ['constraint_violated', 'conflict'],
      // Waits for the read model of the entities that run the workflow.
      reads: ['entities'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const context = contextOf(deps, request);
        const published = await deps.workflows.publish(tenantId, request.params.name, context);
        return { status: 200, body: viewOf(docOf(published.workflow)), position: published.position };
      },
    }),
  ];
};

const otherName = () =>
  invalid([{ path: 'name', code: 'invalid_value', message: 'A workflow cannot be renamed.' }]);
