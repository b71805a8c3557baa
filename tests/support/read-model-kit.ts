import { z } from 'zod';
import { Generation } from '../../application/core/projections/generation.ts';
import {
  ProjectionRunner,
  type RunnerOptions,
} from '../../application/core/projections/projection-runner.ts';
import { WaitingReaders } from '../../application/core/projections/waiting-readers.ts';
import type { EventStore, NewEvent, Position, StoredEvent } from '../../application/ports/event-store.ts';
import { type GenerationId, leaseNameOf, type ReadStore } from '../../application/ports/read-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { projection, touch } from '../../domain/core/projection.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { type BookEvent, bookEvents, causeOf } from './book.ts';
import { silentMetrics, testClock } from './fakes.ts';
import { memoryStores, startNode } from './node.ts';

export interface Tally {
  readonly entries: readonly string[];
}

/** While active, folding an entry with the text `poison` fails; `active: false` stands for code without the fault. */
export const poison = { active: true };

/**
 * A projection with the ordered entries of each book, and a document per entry, which shows repeated and skipped
 * events.
 */
export const tallies = (version = 1) =>
  projection<BookEvent>({
    name: 'tallies',
    version,
    collections: [
      { name: 'tallies', indexes: [] },
      { name: 'entries', indexes: [{ name: 'by_number', fields: ['number'] }] },
    ],
    on: {
      EntryWritten: ({ data, stream }) => [
        touch<Tally>('tallies', stream.slice(stream.indexOf('-') + 1), (tally) => {
          if (data.text === 'poison' && poison.active) throw new TypeError('a poison event');
          return { entries: [...(tally?.entries ?? []), data.entry] };
        }),
        touch<{ number: number }>('entries', data.entry, () => ({ number: data.number })),
      ],
      BookClosed: ({ stream }) => [touch('tallies', stream.slice(stream.indexOf('-') + 1), () => undefined)],
    },
  });

export const definitions = [...bookEvents, ...catalogue];
export const GENERATION: GenerationId = { projection: 'tallies', tag: 'v1' };

/** An empty log and a read store, with functions that write entries to books of tenants and fold them. */
export const readModelKit = async (readStore?: ReadStore) => {
  const stores = memoryStores();
  const clock = testClock();
  const node = startNode({ ...stores, definitions, clock });
  const store = readStore ?? (await openSqliteReadStore({ path: ':memory:' }));
  let written = 0;
  return {
    ...stores,
    node,
    clock,
    store,
    write: (tenantId: string, entry: string, text = entry) => {
      written += 1;
      const number = written;
      return node.commands.execute({
        tenantId,
        type: { category: 'book', stateVersion: 1, initial: null, evolve: (state: null) => state },
        id: 'one',
        cause: causeOf(entry),
        decide: () => [
          {
            type: entry === 'CLOSE' ? 'BookClosed' : 'EntryWritten',
            data: entry === 'CLOSE' ? {} : { entry, number, text },
          },
        ],
      });
    },
    generation: (events: EventStore = stores.events, reads: ReadStore = store) =>
      new Generation(tallies(), GENERATION, { ...foldDeps(node), events, store: reads }),
    lease: (owner = 'tester') => takeLease(store, GENERATION, owner),
    tally: async (tenant: string, generation = GENERATION): Promise<readonly string[] | undefined> => {
      const doc = await store.get(generation, { collection: 'tallies', tenant, id: 'one' });
      return doc === undefined
        ? undefined
        : z.object({ entries: z.array(z.string()) }).parse(doc.value).entries;
    },
    runner: (options: Partial<RunnerOptions> & { version?: number; name?: string } = {}) =>
      new ProjectionRunner(tallies(options.version), {
        waitingReaders: new WaitingReaders(),
        ...foldDeps(node),
        store,
        events: stores.events,
        follower: node.follower,
        owner: options.name ?? 'runner',
        ttlMs: 300,
        lingerMs: 1,
        ...options,
      }),
  };
};
export type ReadModelKit = Awaited<ReturnType<typeof readModelKit>>;

const foldDeps = (node: ReturnType<typeof startNode>) => ({
  codec: node.codec,
  logger: node.logger,
  metrics: silentMetrics,
  clock: node.clock,
});

export const takeLease = async (store: ReadStore, generation: GenerationId, owner = 'tester') => {
  const lease = await store.acquireLease(leaseNameOf(generation), owner, 60_000);
  if (lease === undefined) throw new Error('the lease is somebody else’s');
  return lease;
};

export const endOf = (events: readonly StoredEvent[]): Position => {
  const last = events.at(-1);
  if (last === undefined) throw new Error('no events');
  return last.position;
};

/** An event that cannot be decoded. */
export const undecodable = (id: string): NewEvent => ({
  id,
  type: 'EntryWritten',
  data: '{}',
  metadata: '{}',
});
