import { z } from 'zod';
import { effectiveRole, type TenantPrincipal } from '../../../application/core/commands/principal.ts';
import { actorOf } from '../../../application/core/commands/request-context.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import type { JobActor, Jobs } from '../../../application/workflow/jobs.ts';
import type { Workflows } from '../../../application/workflow/workflows.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { isStorableText } from '../../../domain/core/text.ts';
import { json } from '../../../domain/entities/fields.ts';
import { type JobDoc, jobById, jobsOf, movesOf } from '../../../projections/workflow/jobs.ts';
import { decodeCursor, listName, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit, text } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';
import { jobDetailView, jobView, viewOfDoc, viewOfJob, viewOfMove } from './job-views.ts';

interface Deps {
  readonly ids: Ids;
  readonly jobs: Jobs;
  readonly readModels: ReadModels;
  readonly workflows: Workflows;
}

/** Jobs and their transitions (decisions, section 6, Job). */

const BASE = '/api/v1/tenant/jobs';
const TAG = 'Jobs';
const READS = ['jobs'];
const HISTORY = 1000;
const MAX_PAYLOAD = 64 * 1024;

/** Any text: a filter that no name can equal selects nothing. */
const nameFilter = z.string().max(200).optional();

/** Undefined for a text that cannot be stored. */
const keptLength = (value: unknown): number | undefined => {
  let isKept = true;
  const { length } = JSON.stringify(value, (key, each: unknown) => {
    isKept &&= isStorableText(key) && (typeof each !== 'string' || isStorableText(each));
    return each;
  });
  return isKept ? length : undefined;
};

const payload = z.record(z.string(), json).superRefine((value, context) => {
  const length = keptLength(value);
  const add = (message: string) => context.addIssue({ code: 'custom', message });
  if (length === undefined) add('The payload holds a character that cannot be kept.');
  else if (length > MAX_PAYLOAD) add(`The payload has at most ${MAX_PAYLOAD} characters as JSON.`);
});

const jobActor = (principal: TenantPrincipal): JobActor => ({
  id: actorOf(principal).id,
  role: effectiveRole(principal),
});

export const jobRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('jobs');

  const isFinal = async (tenantId: string, job: JobDoc): Promise<boolean> => {
    const workflow = await deps.workflows.published(tenantId, job.workflow, job.workflow_version);
    return workflow?.machine.isFinal(job.state) ?? false;
  };

  return [
    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listJobs',
      summary: 'Jobs, the one begun last first',
      tag: TAG,
      scope: 'workflow:read',
      query: z.object({
        entity_name: nameFilter,
        state: nameFilter,
        workflow: nameFilter,
        limit: limit(),
        cursor,
      }),
      responses: { 200: z.array(jobView) },
      reads: READS,
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { limit: size, cursor: at, ...filter } = request.query;
        const list = listName('listJobs', filter.entity_name, filter.state, filter.workflow);
        const page = await jobsOf(reader, tenantId, filter, { limit: size, after: decodeCursor(at, list) });
        const body = await Promise.all(
          page.docs.map(async (doc) => viewOfDoc(doc, await isFinal(tenantId, doc))),
        );
        return { status: 200, body, next: nextPage(page.next, list) };
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/:id`,
      operationId: 'getJob',
      summary: 'One job, where it has been, and where the caller can take it',
      tag: TAG,
      scope: 'workflow:read',
      params: idParams,
      responses: { 200: jobDetailView },
      reads: READS,
      handle: async (request) => {
        const { tenantId } = request.principal;
        const job = await jobById(reader, tenantId, request.params.id);
        if (job === undefined) throw notFound();
        const moves = await movesOf(reader, tenantId, job.id, HISTORY);
        const allowed = await deps.jobs.allowed(tenantId, job.id, job.state, jobActor(request.principal));
        return {
          status: 200,
          body: {
            ...viewOfDoc(job, await isFinal(tenantId, job)),
            history: moves.map(viewOfMove),
            allowed_events: allowed,
          },
        };
      },
    }),

    scopedRoute({
      method: 'post',
      path: `${BASE}/:id/transitions`,
      operationId: 'transitionJob',
      summary: 'Move a job along a transition; the loser of a race gets a conflict',
      tag: TAG,
      scope: 'workflow:execute',
      params: idParams,
      body: z.object({
        event_name: text({ max: 200 }),
        payload: payload.optional(),
        expected_state: text({ max: 200 }).optional(),
      }),
      responses: { 200: jobView },
      errors: ['conflict', 'invalid_transition', 'constraint_violated', 'guard_rejected'],
      handle: async (request) => {
        const { event_name: eventName, payload: given, expected_state: expectedState } = request.body;
        const moved = await deps.jobs.transition(
          request.principal.tenantId,
          request.params.id,
          { eventName, payload: given, expectedState },
          jobActor(request.principal),
          contextOf(deps, request),
        );
        return { status: 200, body: viewOfJob(moved), position: moved.position };
      },
    }),

    scopedRoute({
      method: 'post',
      path: `${BASE}/:id/override`,
      operationId: 'overrideJob',
      summary: 'Put a job into any other state of its workflow',
      tag: TAG,
      scope: 'workflow:admin',
      roles: ['admin'],
      params: idParams,
      body: z.object({
        to_state: text({ max: 200 }),
        reason: text({ max: 1000 }).refine((reason) => reason.trim() !== '', 'The reason must not be blank.'),
      }),
      responses: { 200: jobView },
      errors: ['conflict', 'invalid_transition'],
      handle: async (request) => {
        const { to_state: toState, reason } = request.body;
        const moved = await deps.jobs.override(
          request.principal.tenantId,
          request.params.id,
          { toState, reason },
          contextOf(deps, request),
        );
        return { status: 200, body: viewOfJob(moved), position: moved.position };
      },
    }),
  ];
};
