import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { Jobs } from '../../../application/workflow/jobs.ts';
import { Workflows } from '../../../application/workflow/workflows.ts';
import type { Values } from '../../../domain/entities/fields.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { type SchemaEvent, schemaStream } from '../../../domain/entities/schema.ts';
import type { Definition } from '../../../domain/workflow/definition.ts';
import { workflowStream } from '../../../domain/workflow/workflow.ts';
import { causeOf } from '../../support/book.ts';
import { type SharedStores, startNode } from '../../support/node.ts';

export const TENANT = 'acme';

const INVOICE: SchemaEvent = {
  type: 'EntityDefined',
  data: {
    entity_name: 'invoice',
    label: 'Invoice',
    workflow: null,
    fields: [
      { key: 'title', label: 'Title', type: 'text', required: false },
      { key: 'amount', label: 'Amount', type: 'integer', required: false },
    ],
  },
};

let requests = 0;

/** A new request without an idempotency key. */
export const request = (): RequestContext => {
  requests += 1;
  let made = 0;
  const name = `request-${requests}`;
  return {
    cause: causeOf(name),
    priorAttempt: undefined,
    newId: () => {
      made += 1;
      return `${name}-${made}`;
    },
  };
};

/** A node with workflows and jobs. */
export const startJobs = (shared: Partial<SharedStores> & { readonly clock?: Clock } = {}) => {
  const node = startNode(shared);
  const { commands, streams, states, events, codec, clock } = node;
  const workflows = new Workflows({ streams, events, codec, entitiesUsing: async () => [] });
  const jobs = new Jobs({ streams, workflows, clock });

  const publish = async (name: string, definition: Definition): Promise<number> => {
    const { state } = await states.load(TENANT, workflowStream, name);
    if (!state.exists) await workflows.create(TENANT, name, definition, request());
    else await workflows.save(TENANT, name, definition, request());
    return (await workflows.publish(TENANT, name, request())).workflow.versions.length;
  };

  /** Creates a record of the entity `invoice` with a job, as the use cases of records do. */
  const startJob = async (id: string, workflow: string, values: Values = {}): Promise<void> => {
    const published = await workflows.published(TENANT, workflow);
    if (published === undefined) throw new Error('publish it first');
    const created: RecordEvent = {
      type: 'RecordCreated',
      data: {
        record_id: id,
        entity_name: 'invoice',
        values: { ...values },
        types: {},
        schema_revision: 0,
        created_by: 'ann',
        job: { workflow, workflow_version: published.version, state: published.initial },
      },
    };
    await commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id,
      cause: causeOf(`record-${id}`),
      decide: () => [created],
    });
  };

  const defineInvoice = (): Promise<unknown> =>
    commands.execute({
      tenantId: TENANT,
      type: schemaStream,
      id: 'invoice',
      cause: causeOf('schema'),
      decide: (state) => (state.exists ? [] : [INVOICE]),
    });

  return { ...node, workflows, jobs, publish, startJob, defineInvoice };
};

export type JobsNode = ReturnType<typeof startJobs>;
