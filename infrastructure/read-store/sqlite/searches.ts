import { setImmediate as nextTick } from 'node:timers/promises';
import type {
  FindResult,
  GenerationId,
  ReadStore,
  SearchQuery,
  Selection,
} from '../../../application/ports/read-store.ts';
import type { SearchSlices } from '../../../application/ports/searches.ts';
import type { SqliteConnection } from '../../sqlite/connection.ts';
import { searchedIndex } from '../searched.ts';
import type { Collection } from './collection.ts';
import { fewPage } from './few.ts';
import type { Plan, PlanLimits } from './plan.ts';
import { quickPage, quickPlanOf } from './quick.ts';
import { countRows, searchIds, searchPage } from './search.ts';
import { type SlotLimits, searchSlots } from './search-slots.ts';
import { isPlain, type ReadStep, type RunningSearch, type SliceLimits } from './slices.ts';

export type SearchLimits = SliceLimits & SlotLimits & PlanLimits;

const LIMITS: SearchLimits = {
  counted: 200_000,
  countedAtOnce: 4_000,
  quick: 256,
  firstRows: 8,
  sliceMs: 4,
  // Searches of many tenants share the thread by slices; each holds one page in memory.
  atOnce: 32,
  waiting: 256,
  waitingOfTenant: 64,
  deadlineMs: 10_000,
};

/** The searches of a store: short ones run at once, others wait for a slot. */
export function sqliteSearches(on: {
  readonly connection: SqliteConnection;
  readonly collectionOf: (generation: GenerationId, name: string) => Collection | undefined;
  /** Repeats an action after another process has dropped a generation. */
  readonly sinceDrops: <T>(action: () => T) => T;
  readonly limits: Partial<SearchLimits> | undefined;
  readonly timeSlices: SearchSlices | undefined;
}): Pick<ReadStore, 'search' | 'ids' | 'count'> {
  const { connection, collectionOf, sinceDrops, timeSlices } = on;
  const limits = { ...LIMITS, ...on.limits };
  const slots = searchSlots(limits);

  /** Runs each step of a search as a separate read, so that other work runs in between. */
  function searching(generation: GenerationId, name: string): ReadStep {
    return (step) =>
      connection.read(() =>
        sinceDrops(() => {
          const collection = collectionOf(generation, name);
          return collection === undefined ? undefined : step(collection.tables);
        }),
      );
  }

  /**
   * Runs a search at once if it is short, otherwise in a slot. @param short set for a short search, with its plan if
   * one was chosen
   */
  function run<T>(
    generation: GenerationId,
    { collection, tenant, withinMs = limits.deadlineMs }: Selection,
    short: { readonly plan?: Plan | undefined } | undefined,
    work: (search: RunningSearch) => Promise<T>,
  ): Promise<T> {
    const step = searching(generation, collection);
    const slice = timeSlices?.of(tenant, 'search');
    const nextSlice = () => slice?.next() ?? nextTick();
    if (short !== undefined) {
      return work({ step, limits, nextSlice, plan: short.plan, deadline: performance.now() + withinMs });
    }
    return slots(tenant, (deadline) => work({ step, limits, nextSlice, deadline }), withinMs);
  }

  async function shortPlan(generation: GenerationId, query: SearchQuery, kind: 'page' | 'count') {
    if (kind === 'page' && isPlain(query)) return {};
    const step = searching(generation, query.collection);
    const plan = await step((tables) => quickPlanOf(tables, query, limits, kind));
    return plan && { plan };
  }

  return {
    search: async (generation, query) => {
      const quick = await connection.read(() =>
        sinceDrops(() => {
          const collection = collectionOf(generation, query.collection);
          if (collection === undefined) return { page: { docs: [] } };
          if (isPlain(query)) return { page: plainPage(collection, query) };
          const few = fewPage(collection.tables, query, limits);
          if (few !== undefined) return { page: few };
          return connection.snapshot(() => quickPage(collection.tables, query, limits));
        }),
      );
      if (quick !== undefined && 'page' in quick) return quick.page;
      return (await run(generation, query, quick, (search) => searchPage(search, query))) ?? { docs: [] };
    },
    ids: async (generation, query) => {
      const short = await shortPlan(generation, query, 'page');
      return (await run(generation, query, short, (search) => searchIds(search, query))) ?? { ids: [] };
    },
    count: async (generation, selection) => {
      const short = await shortPlan(generation, { ...selection, limit: 1 }, 'count');
      return (await run(generation, selection, short, (search) => countRows(search, selection))) ?? 0;
    },
  };
}

/** A page in the order of the index, without a filter. */
function plainPage(collection: Collection, query: SearchQuery): FindResult {
  searchedIndex(collection.tables, query);
  const page = collection.find(query);
  return query.explain ? { ...page, plan: 'scan' } : page;
}
