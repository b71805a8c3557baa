import { z } from 'zod';
import { STATES, TO_APPROVAL } from '../../support/sample-workflow.ts';
import { uuid } from '../../support/shapes.ts';
import type { Member, TestTenant } from '../../support/world.ts';

export const WORKFLOWS = '/api/v1/tenant/workflows';
export const ENTITIES = '/api/v1/tenant/entities';
export const JOBS = '/api/v1/tenant/jobs';

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const definition = {
  initial: z.string(),
  states: z.array(z.strictObject({ key: z.string(), label: z.string(), final: z.boolean().optional() })),
  transitions: z.array(
    z.strictObject({
      event_name: z.string(),
      from: z.union([z.string(), z.array(z.string())]),
      to: z.string(),
      guard: z.string().optional(),
      guard_label: z.string().optional(),
      roles: z.array(z.enum(['admin', 'operator'])).optional(),
      required_fields: z.array(z.string()).optional(),
    }),
  ),
};
export type Definition = z.output<z.ZodObject<typeof definition>>;

/** Shapes of answers, repeated from the interface decisions; strict, to detect additional keys. */
export const workflow = z.strictObject({
  name: z.string(),
  status: z.enum(['draft', 'published']),
  version: z.int().nonnegative(),
  ...definition,
  published: z.strictObject({ version: z.int().positive(), ...definition }).optional(),
  published_at: instant.nullable(),
  created_at: instant,
  updated_at: instant,
});
export const workflows = z.array(workflow);

export const job = z.strictObject({
  id: uuid,
  entity_name: z.string(),
  entity_id: uuid,
  workflow: z.string(),
  workflow_version: z.int().positive(),
  state: z.string(),
  final: z.boolean(),
  version: z.int().positive(),
  created_at: instant,
  updated_at: instant,
});
export const jobs = z.array(job);

export const jobDetail = job.extend({
  history: z.array(
    z.strictObject({
      at: instant,
      from_state: z.string(),
      to_state: z.string(),
      event_name: z.string(),
      actor: z.strictObject({ kind: z.string(), id: z.string() }),
      override: z.literal(true).optional(),
      reason: z.string().optional(),
    }),
  ),
  allowed_events: z.array(z.string()),
});

/** An expense's workflow: submitted, approved by an admin if small, paid with a receipt, or sent back. */
export const EXPENSES: Definition = {
  initial: 'draft',
  states: STATES,
  transitions: [
    ...TO_APPROVAL,
    { event_name: 'pay', from: 'approved', to: 'paid', guard: 'payload.receipt != null' },
  ],
};

export const put = (who: Member, path: string, body: unknown) => who.api.request('PUT', path, body);

/** Creates a workflow, or replaces its draft if the name exists, and publishes it. */
export const publish = async (who: Member, name: string, own: Definition = EXPENSES): Promise<void> => {
  const made = await who.api.post(WORKFLOWS, { name, ...own });
  if (made.status === 409) (await put(who, `${WORKFLOWS}/${name}`, own)).as(workflow);
  else made.as(workflow, 201);
  (await who.api.post(`${WORKFLOWS}/${name}/publish`)).as(workflow);
};

export const FIELDS = [
  { key: 'title', label: 'Title', type: 'text', required: false },
  { key: 'amount', label: 'Amount', type: 'integer', required: false },
];

/** An entity with a published workflow. */
export const defineEntity = async (
  tenant: TestTenant,
  name: string,
  own: { definition?: Definition; workflow?: string } = {},
): Promise<void> => {
  const flow = own.workflow ?? `${name}_flow`;
  if (own.workflow === undefined) await publish(tenant.admin, flow, own.definition);
  const answer = await tenant.admin.api.post(ENTITIES, {
    name,
    label: name,
    fields: FIELDS,
    workflow: flow,
  });
  answer.as(z.looseObject({ name: z.string() }), 201);
};

const record = z.looseObject({ id: uuid, job_id: uuid, state: z.string(), version: z.int() });

/** A record that starts a job; both have this id. */
export const startJob = async (
  who: Member,
  entity: string,
  values: Record<string, unknown> = { title: 'Train', amount: 50 },
): Promise<string> => {
  const made = (await who.api.post(`${ENTITIES}/${entity}/records`, { values })).as(record, 201);
  return made.job_id;
};

export const readRecord = async (who: Member, entity: string, id: string) =>
  (await who.api.get(`${ENTITIES}/${entity}/records/${id}`)).as(record);

export const move = (who: Member, id: string, event_name: string, own: Record<string, unknown> = {}) =>
  who.api.post(`${JOBS}/${id}/transitions`, { event_name, ...own });

/** @param position the position of a write through another process, which the answer must include */
export const readJob = async (who: Member, id: string, position?: string) => {
  const headers = position === undefined ? {} : { 'x-min-position': position };
  return (await who.api.get(`${JOBS}/${id}`, { headers })).as(jobDetail);
};
