import { WriterGate } from '../../../application/core/commands/writer-gate.ts';
import { Schemas } from '../../../application/entities/schemas.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { Workflows } from '../../../application/workflow/workflows.ts';
import type { EntityChange } from '../../../domain/entities/definition.ts';
import type { Definition } from '../../../domain/workflow/definition.ts';
import { severalTicks } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import { request, TENANT } from './support.ts';

/** Nodes with entities and workflows. */

export const field = (key: string) => ({ key, label: key, type: 'text' as const, required: false });
export const definition = (guard?: string): Definition => ({
  initial: 'a',
  states: [
    { key: 'a', label: 'A' },
    { key: 'b', label: 'B' },
  ],
  transitions: [{ event_name: 'go', from: 'a', to: 'b', ...(guard === undefined ? {} : { guard }) }],
});
export const NEEDS_Z = definition('record.z == "q"');

interface Options {
  readonly wrap?: (events: EventStore) => EventStore;
  /** Called while a change checks stored records. */
  readonly looking?: () => Promise<void>;
  /** Called while publishing waits for a change. */
  readonly waiting?: () => Promise<void>;
  /** Called after each look-up of a published workflow. */
  readonly lookedUp?: () => Promise<void>;
  /** Entities that use a workflow, by the read model; nodes do not see each other’s caches. */
  readonly readModel?: readonly string[];
}

/** Makes nodes without live feeds over the same stores: each keeps its cached state until it reads the store. */
export const cluster = () => {
  const shared = { ...memoryStores(), clock: testClock() };
  const node = (options: Options = {}) => {
    const { wrap = (events) => events, looking = async () => undefined } = options;
    const { commands, streams, states, events, codec } = startNode({
      ...shared,
      events: wrap(shared.events),
    });
    const workflows = new Workflows({
      streams,

      events,
      codec,
      entitiesUsing: async () => options.readModel ?? [],
      pause: options.waiting ?? severalTicks,
    });
    const schemas = new Schemas({
      streams,

      gate: new WriterGate(),
      workflows: async (tenantId, name) => {
        const found = await workflows.published(tenantId, name);
        await options.lookedUp?.();
        return found;
      },
      findBroken: async () => {
        await looking();
        return undefined;
      },
      pause: async () => undefined,
    });
    return {
      commands,
      states,
      schemas,
      workflows,
      define: (name: string, keys: readonly string[], workflow: string | null = null) =>
        schemas.define(TENANT, { name, label: name, fields: keys.map(field), workflow }, request()),
      change: (change: EntityChange) => schemas.change(TENANT, 'thing', change, request()),
      publish: () => workflows.publish(TENANT, 'flow', request()),
      save: (draft: Definition) => workflows.save(TENANT, 'flow', draft, request()),
      fields: async () => (await schemas.requireLatest(TENANT, 'thing')).fields.map(({ key }) => key),
    };
  };
  return { ...shared, node };
};
