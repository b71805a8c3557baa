import { Jobs } from '../../../application/jobs.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { RequestContext } from '../../../application/request-context.ts';
import { Workflows } from '../../../application/workflows.ts';
import type { Values } from '../../../domain/entities/fields.ts';
import { recordDecider } from '../../../domain/entities/record.ts';
import type { RecordEvent } from '../../../domain/entities/record-events.ts';
import { type SchemaEvent, schemaDecider } from '../../../domain/entities/schema.ts';
import type { Definition } from '../../../domain/workflow/definition.ts';
import { workflowDecider } from '../../../domain/workflow/workflow.ts';
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

/** A request of its own, without an idempotency key. */
export const request = (): RequestContext => {
  requests += 1;
  let made = 0;
  const name = `request-${requests}`;
  return {
    cause: causeOf(name),
    again: undefined,
    newId: () => {
      made += 1;
      return `${name}-${made}`;
    },
  };
};

/** A node with workflows and jobs. */
export const startJobs = (shared: Partial<SharedStores> & { readonly clock?: Clock } = {}) => {
  const node = startNode(shared);
  const { commands, states, events, codec, clock } = node;
  const workflows = new Workflows({ commands, states, events, codec, entitiesUsing: async () => [] });
  const jobs = new Jobs({ commands, states, workflows, clock });

  const publish = async (name: string, definition: Definition): Promise<number> => {
    const { state } = await states.load(TENANT, workflowDecider, name);
    if (!state.exists) await workflows.create(TENANT, name, definition, request());
    else await workflows.save(TENANT, name, definition, request());
    return (await workflows.publish(TENANT, name, request())).workflow.versions.length;
  };

  /** A record of the entity `invoice` with a job, as the records' own use cases write it. */
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
      decider: recordDecider,
      id,
      cause: causeOf(`record-${id}`),
      decide: () => [created],
    });
  };

  const defineInvoice = (): Promise<unknown> =>
    commands.execute({
      tenantId: TENANT,
      decider: schemaDecider,
      id: 'invoice',
      cause: causeOf('schema'),
      decide: (state) => (state.exists ? [] : [INVOICE]),
    });

  return { ...node, workflows, jobs, publish, startJob, defineInvoice };
};

export type JobsNode = ReturnType<typeof startJobs>;
