import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type DocKey,
  type DocWrite,
  type GenerationId,
  leaseNameOf,
  type ReadStore,
} from '../application/ports/read-store.ts';
import { openSqliteReadStore } from '../infrastructure/read-store/sqlite/store.ts';
import { positionOf } from '../infrastructure/read-store/stored-values.ts';

const single = [{ name: 'by_time', fields: ['updated_at'] }];
const two = [...single, { name: 'by_state', fields: ['state', 'updated_at'] }];
const many = [
  { name: 'by_participant', fields: ['participants.user_id', 'updated_at'], multi: 'participants.user_id' },
];

/**
 * How fast a projection can be rebuilt: load the touched documents, fold, commit, in batches. One event makes or
 * changes one document of about 250 bytes under one index, so this is the worst case of a fold.
 * Also by itself: node bench/sqlite-read-store.ts [events] [batch]
 */
export async function benchSqliteReadStore(
  events: number,
  batchSize: number,
): Promise<{ title: string; rate: number }[]> {
  const rates: { title: string; rate: number }[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  try {
    for (const [title, indexes, documents] of [
      ['new documents, one index', single, events],
      ['new documents, two indexes', two, events],
      ['10 events for each document, one index', single, events / 10],
      ['10 events for each document, two participants each', many, events / 10],
    ] as const) {
      const store = await openSqliteReadStore({ path: join(folder, `${title}.db`) });
      const generation = { projection: 'bench', tag: 'v1' };
      await store.prepare(generation, [{ name: 'things', indexes }]);
      const lease = await store.acquireLease(leaseNameOf(generation), 'bench', 600_000);
      if (lease === undefined) throw new Error('no lease');
      const started = performance.now();
      await rebuild(store, generation, { fence: lease.fence, documents, events, batchSize });
      rates.push({ title, rate: events / ((performance.now() - started) / 1000) });
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return rates;
}

interface Load {
  readonly fence: number;
  readonly documents: number;
  readonly events: number;
  readonly batchSize: number;
}

async function rebuild(
  store: ReadStore,
  generation: GenerationId,
  { fence, documents, events, batchSize }: Load,
): Promise<void> {
  for (let from = 0; from < events; from += batchSize) {
    const touched = new Map<string, DocKey>();
    for (let at = from; at < Math.min(events, from + batchSize); at += 1) {
      const id = `0190a1b2-0000-7000-8000-${String(Math.floor((at * documents) / events)).padStart(12, '0')}`;
      touched.set(id, { collection: 'things', tenant: 'acme', id });
    }
    const loaded = await store.load(generation, [...touched.values()]);
    const position = positionOf(String(from + batchSize).padStart(16, '0'));
    const writes = [...touched.values()].map((key, nth): DocWrite => {
      const value = loaded[nth]?.value ?? { title: 'A document of a usual size', text: 'x'.repeat(100) };
      const participants = [{ user_id: 'ann' }, { user_id: `user-${nth % 50}` }];
      const updated_at = new Date(1.7e12 + from * 1000 + nth).toISOString();
      return {
        ...key,
        position,
        value: { ...value, id: key.id, state: `s${nth % 5}`, updated_at, participants },
      };
    });
    await store.commit({ generation, fence, writes, checkpoint: position });
  }
}

if (import.meta.main) {
  const [events = 200_000, batchSize = 1000] = process.argv.slice(2).map(Number);
  for (const { title, rate } of await benchSqliteReadStore(events, batchSize)) {
    console.log(`${title}: ${Math.round(rate)} events/s`);
  }
}
