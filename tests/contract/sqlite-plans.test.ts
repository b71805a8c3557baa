import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadStore } from '../../application/ports/read-store.ts';
import type { Plan, PlanLimits } from '../../infrastructure/read-store/sqlite/plan.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { RECORDS, searchesOf } from './read-store/searches.ts';

/** Limits that force one plan, or slices, on a search that would otherwise take the cheapest plan. */
const PLANS: Readonly<Record<string, PlanLimits>> = {
  'by documents of entries alone': limitsOf(['scan', 'order']),
  'by documents of entries alone, in slices': limitsOf(['scan', 'order'], 0),
  'in the order of entries alone': limitsOf(['lookup']),
  'in the order of entries alone, in slices': limitsOf(['lookup'], 0),
  'by scans alone': limitsOf(['lookup', 'order']),
  'in slices': limitsOf([], 0),
};

function limitsOf(without: readonly Plan['kind'][], quick = 256): PlanLimits {
  return { without, quick, counted: 200_000, countedAtOnce: quick === 0 ? 2 : 4_000 };
}

describe('SQLite read store: every plan of a search gives the same result', () => {
  for (const [title, limits] of Object.entries(PLANS)) {
    let store: ReadStore | undefined;
    let folder = '';
    const open = async (): Promise<ReadStore> => {
      folder = await mkdtemp(join(tmpdir(), 'plans-'));
      return openSqliteReadStore({ path: join(folder, 'read.db'), limits: { ...limits, firstRows: 2 } });
    };
    before(async () => {
      store = await open();
    });
    after(async () => {
      await store?.close();
      await rm(folder, { recursive: true });
    });
    const started = (): ReadStore => {
      if (store === undefined) throw new Error('the store is not open');
      return store;
    };
    const harness = { open, isAtomic: true, runs: 20, dispose: async () => undefined };
    searchesOf({ store: started, harness: () => harness }, `searches ${title}`, {
      ...RECORDS,
      scopedBy: 'entity_name',
    });
  }
});
