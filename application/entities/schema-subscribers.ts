import { recordStream } from '../../domain/entities/record.ts';
import { EntityChanged, EntityChangeProposed } from '../../domain/entities/schema.ts';
import { startJob } from '../../domain/workflow/job.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { pause } from '../core/runtime/timers.ts';
import { causeOf, withReadModel } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { Clock } from '../ports/clock.ts';
import { newJob, type PublishedWorkflows } from '../workflow/workflow-uses.ts';
import { OTHER_PROCESSES_MS, type Schemas, writersOf } from './schemas.ts';

/** All records of an entity, including records that are being deleted, up to the present end of the log. */
type AllRecords = (
  tenantId: string,
  entityName: string,
) => AsyncIterable<{ readonly id: string; readonly job_id: string | null }>;

/** Starts jobs for an entity's records when a workflow is attached to it (decisions, section 6). */
export const jobStarter = (deps: {
  readonly streams: Streams;
  readonly workflows: PublishedWorkflows;
  readonly gate: WriterGate;
  readonly allRecords: AllRecords;
  readonly pause?: (ms: number) => Promise<void>;
}): Subscriber => ({
  name: 'job-starter',
  types: [EntityChanged.type],
  handle: async (event, quantum) => {
    const change = dataOf(EntityChanged, event);
    if (change?.workflow_attached !== true || change.workflow === null) return;
    const { tenantId } = event;
    const { entity_name: entityName, workflow } = change;
    const job = await newJob(deps.workflows, tenantId, workflow);
    if (job === undefined) return;
    // Writers that started before the change, here or in other processes, may still create records without a job.
    await deps.gate.drained(writersOf(tenantId, entityName));
    await (deps.pause ?? pause)(OTHER_PROCESSES_MS);
    await withReadModel(async () => {
      for await (const { id, job_id: jobId } of deps.allRecords(tenantId, entityName)) {
        if (jobId !== null) continue;
        await quantum?.next();
        await deps.streams
          .of(recordStream, tenantId, id)
          .execute({ cause: causeOf(event) }, (state) => startJob(state, job));
      }
    });
  },
});

/** Settles schema changes of crashed processes. */
export const schemaChanger = (deps: { readonly schemas: Schemas; readonly clock: Clock }): Subscriber => ({
  name: 'schema-changer',
  types: [EntityChangeProposed.type],
  handle: async (event) => {
    const proposed = dataOf(EntityChangeProposed, event);
    if (proposed === undefined) return;
    const { entity_name: name, change_id: changeId } = proposed;
    const age = () => deps.clock.now() - event.at;
    await withReadModel(() => deps.schemas.resume(event.tenantId, name, changeId, age, causeOf(event)));
  },
});
