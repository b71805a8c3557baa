import { z } from 'zod';
import { effectiveRole, type TenantPrincipal } from '../../../application/core/commands/principal.ts';
import { actorOf } from '../../../application/core/commands/request-context.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { JobActor, JobNow, Jobs } from '../../../application/workflow/jobs.ts';
import type { Workflows } from '../../../application/workflow/workflows.ts';
import { iso } from '../../../domain/core/projection.ts';
import { isStorableKey, isStorableText } from '../../../domain/core/text.ts';
import { json } from '../../../domain/entities/fields.ts';
import {
  type JobDoc,
  type JobMoveDoc,
  jobById,
  jobsOf,
  movesOf,
} from '../../../projections/workflow/jobs.ts';
import { listName } from '../../http/cursor.ts';
import type { Reply, Route } from '../../http/route.ts';
import { filledText, idParams, text, timestamp } from '../../http/schemas.ts';
import { found, list, listReply, ok, one, pageQuery, shown } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly jobs: Jobs;
  readonly readModels: ReadModels;
  readonly workflows: Workflows;
}

const BASE = '/api/v1/tenant/jobs';
const READS = ['jobs'];
const HISTORY = 1000;
const MAX_PAYLOAD = 64 * 1024;

const jobView = z
  .object({
    id: z.string(),
    entity_name: z.string(),
    entity_id: z.string(),
    workflow: z.string(),
    workflow_version: z.int(),
    state: z.string(),
    final: z.boolean(),
    version: z.int().meta({ description: 'Number of states that the job has been in.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Job' });

const jobMove = z.object({
  at: timestamp,
  from_state: z.string(),
  to_state: z.string(),
  event_name: z.string(),
  actor: z.object({ kind: z.string(), id: z.string() }),
  override: z.boolean().optional(),
  reason: z.string().optional(),
});

const jobDetailView = jobView
  .extend({
    history: z.array(jobMove).meta({ description: 'The latest 1,000, oldest first.' }),
    allowed_events: z.array(z.string()).meta({
      description:
        'Events that the caller can send now: the role is allowed, and the guard holds without a payload.',
    }),
  })
  .meta({ id: 'JobDetail' });

const viewOfDoc = (doc: JobDoc, final: boolean) => shown(jobView, { ...doc, entity_id: doc.id, final });

const viewOfJob = ({ record, workflow }: JobNow): z.output<typeof jobView> => ({
  id: record.id,
  entity_name: record.entityName,
  entity_id: record.id,
  workflow: record.job.workflow,
  workflow_version: record.job.workflow_version,
  state: record.job.state,
  final: workflow.machine.isFinal(record.job.state),
  version: record.job.version,
  created_at: iso(record.job.startedAt),
  updated_at: iso(record.job.movedAt),
});

const viewOfMove = ({ job_id: _job, seq: _seq, ...move }: JobMoveDoc): z.output<typeof jobMove> => move;

/** Any text: a filter that no name can equal selects nothing. */
const nameFilter = z.string().max(200).optional();

const jobQuery = z.object({
  entity_name: nameFilter.meta({ description: 'Jobs of records of this entity.' }),
  state: nameFilter.meta({ description: 'Jobs in this state.' }),
  workflow: nameFilter.meta({ description: 'Jobs of this workflow.' }),
  ...pageQuery.shape,
});

/** Characters of the value as JSON; undefined if it holds a text that cannot be stored. */
const storableLength = (value: unknown): number | undefined => {
  let isStorable = true;
  const { length } = JSON.stringify(value, (key, each: unknown) => {
    isStorable &&= isStorableKey(key) && (typeof each !== 'string' || isStorableText(each));
    return each;
  });
  return isStorable ? length : undefined;
};

const payload = z.record(z.string(), json).superRefine((value, context) => {
  const length = storableLength(value);
  const add = (message: string) => context.addIssue({ code: 'custom', message });
  if (length === undefined) add('The payload contains a character that cannot be stored.');
  else if (length > MAX_PAYLOAD) add(`The payload has at most ${MAX_PAYLOAD} characters as JSON.`);
});

const jobActor = (principal: TenantPrincipal): JobActor => ({
  id: actorOf(principal).id,
  role: effectiveRole(principal),
});

const reply = (moved: Awaited<ReturnType<Jobs['transition']>>): Reply => ({
  status: 200,
  body: viewOfJob(moved),
  position: moved.position,
});

/** Jobs and their transitions (decisions, section 6, Job). */
export const jobRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('jobs');

  const isFinal = async (tenantId: string, job: JobDoc): Promise<boolean> => {
    const workflow = await deps.workflows.published(tenantId, job.workflow, job.workflow_version);
    return workflow?.machine.isFinal(job.state) ?? false;
  };

  return tagged('Jobs', [
    scopedRoute({
      ...list(jobView, jobQuery),
      path: BASE,
      operationId: 'listJobs',
      summary: 'Jobs, newest first',
      description: 'Filter by entity, state and workflow.',
      scope: 'workflow:read',
      reads: READS,
      handle: ({ principal: { tenantId }, query: { limit, cursor, ...filter } }) =>
        listReply(
          { limit, cursor },
          (page) => jobsOf(reader, tenantId, filter, page),
          async (doc) => viewOfDoc(doc, await isFinal(tenantId, doc)),
          listName('listJobs', filter.entity_name, filter.state, filter.workflow),
        ),
    }),

    scopedRoute({
      ...one('get', jobDetailView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getJob',
      summary: 'One job, with its history and the caller’s allowed events',
      description:
        '`history` lists each transition with its actor; `allowed_events` names the transitions that the ' +
        'caller may make now.',
      scope: 'workflow:read',
      reads: READS,
      handle: async ({ principal, params }) => {
        const { tenantId } = principal;
        const job = found(await jobById(reader, tenantId, params.id));
        const moves = await movesOf(reader, tenantId, job.id, HISTORY);
        const allowed_events = await deps.jobs.allowed(tenantId, job.id, job.state, jobActor(principal));
        const view = viewOfDoc(job, await isFinal(tenantId, job));
        return ok({ ...view, history: moves.map(viewOfMove), allowed_events });
      },
    }),

    scopedRoute({
      ...one('post', jobView, idParams),
      path: `${BASE}/:id/transitions`,
      operationId: 'transitionJob',
      summary: 'Move a job along a transition; after a lost race the answer is a conflict',
      description:
        'A guard that is false is 422 `guard_rejected`, with the guard in `details`; an event without a ' +
        'transition from the current state is 409 `invalid_transition`. With `expected_state` the job is ' +
        'moved only from that state.',
      scope: 'workflow:execute',
      body: z.object({
        event_name: text({ max: 200 }),
        payload: payload.optional(),
        expected_state: text({ max: 200 }).optional(),
      }),
      errors: ['conflict', 'invalid_transition', 'constraint_violated', 'guard_rejected'],
      handle: async ({ principal, params, body, context }) => {
        const { event_name: eventName, payload: given, expected_state: expectedState } = body;
        const wanted = { eventName, payload: given, expectedState };
        const { tenantId } = principal;
        return reply(await deps.jobs.transition(tenantId, params.id, wanted, jobActor(principal), context));
      },
    }),

    scopedRoute({
      ...one('post', jobView, idParams),
      path: `${BASE}/:id/override`,
      operationId: 'overrideJob',
      summary: 'Override: move a job to any other state of its workflow',
      description:
        'For repairs: guards are not checked. The reason is stored in the history, and webhooks get ' +
        '`job.admin_override`.',
      scope: 'workflow:admin',
      roles: ['admin'],
      body: z.object({
        to_state: text({ max: 200 }),
        reason: filledText(1000, 'The reason must not be blank.'),
      }),
      errors: ['conflict', 'invalid_transition'],
      handle: async ({ principal, params, body: { to_state: toState, reason }, context }) =>
        reply(await deps.jobs.override(principal.tenantId, params.id, { toState, reason }, context)),
    }),
  ]);
};
