import { recordDecider } from '../../domain/entities/record.ts';
import { decideJobStart } from '../../domain/entities/record-decisions.ts';
import { EntityChanged, EntityChangeProposed } from '../../domain/entities/schema.ts';
import { dataOf, type LoggedEvent } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { Clock } from '../ports/clock.ts';
import { type Schemas, writersOf } from '../schemas.ts';
import type { Subscriber } from '../subscriber.ts';
import type { PublishedWorkflows } from '../workflow-uses.ts';
import type { WriterGate } from '../writer-gate.ts';
import { causeOf, withReadModel } from './cause.ts';

/** Every record of an entity, those being deleted included, as far as the log goes now. */
export type AllRecords = (
  tenantId: string,
  entityName: string,
) => AsyncIterable<{ readonly id: string; readonly job_id: string | null }>;

/** Gives the records of an entity their jobs when a workflow is attached to it later (decisions, section 6). */
export const jobStarter = (deps: {
  readonly commands: CommandHandler;
  readonly workflows: PublishedWorkflows;
  readonly gate: WriterGate;
  readonly allRecords: AllRecords;
}): Subscriber => ({
  name: 'job-starter',
  types: [EntityChanged.type],
  handle: async (event) => {
    const change = dataOf(EntityChanged, event);
    if (change?.workflow_attached !== true || change.workflow === null) return;
    const { tenantId } = event;
    const { entity_name: entityName, workflow } = change;
    const published = await deps.workflows(tenantId, workflow);
    if (published === undefined) return;
    const job = { workflow, workflow_version: published.version, state: published.initial };
    // Whoever began to write before the change may create a record without a job still.
    await deps.gate.drained(writersOf(tenantId, entityName));
    await withReadModel(async () => {
      for await (const { id, job_id: jobId } of deps.allRecords(tenantId, entityName)) {
        if (jobId !== null) continue;
        await deps.commands.execute({
          tenantId,
          decider: recordDecider,
          id,
          cause: causeOf(event),
          decide: (state) => decideJobStart(state, job),
        });
      }
    });
  },
});

/** Settles changes of schemas whose process died before it did. */
export const schemaChanger = (deps: { readonly schemas: Schemas; readonly clock: Clock }): Subscriber => ({
  name: 'schema-changer',
  types: [EntityChangeProposed.type],
  handle: async (event: LoggedEvent) => {
    const proposed = dataOf(EntityChangeProposed, event);
    if (proposed === undefined) return;
    const { entity_name: name, change_id: changeId } = proposed;
    const age = () => deps.clock.now() - event.at;
    await withReadModel(() => deps.schemas.resume(event.tenantId, name, changeId, age, causeOf(event)));
  },
});
