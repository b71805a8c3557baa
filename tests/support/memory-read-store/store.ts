import type { Position } from '../../../application/ports/event-store.ts';
import {
  type BatchWrite,
  type CollectionSpec,
  Fenced,
  type GenerationId,
  type GenerationState,
  leaseNameOf,
  type ParkedTenant,
  type ReadStore,
} from '../../../application/ports/read-store.ts';
import { compareText } from '../../../domain/expressions/compare.ts';
import { checkNames, checkSameSpec, specText } from '../../../infrastructure/read-store/stored-values.ts';
import { ALL, MemoryCollection } from './collection.ts';
import { MemoryLeases, memoryProgress } from './progress.ts';
import { countRows, searchIds, searchPage } from './search.ts';

interface Generation {
  checkpoint: Position | undefined;
  readonly parked: Map<string, ParkedTenant>;
  readonly collections: Map<string, MemoryCollection>;
}

/**
 * Read models in memory, for the simulation: fulfils the contract of the port, with commits that are whole or nothing.
 * @param clock the time of leases (ms since 1970)
 */
export const openMemoryReadStore = (clock: () => number = Date.now): ReadStore => {
  const projections = new Map<string, Map<string, Generation>>();
  const leases = new MemoryLeases(clock);
  const generationOf = ({ projection, tag }: GenerationId): Generation | undefined =>
    projections.get(projection)?.get(tag);
  const collectionOf = (generation: GenerationId, name: string): MemoryCollection | undefined =>
    generationOf(generation)?.collections.get(name);

  const prepare = ({ projection, tag }: GenerationId, specs: readonly CollectionSpec[]): void => {
    checkNames(projection, tag, specs);
    const tags = projections.get(projection) ?? new Map<string, Generation>();
    projections.set(projection, tags);
    const generation = tags.get(tag) ?? { checkpoint: undefined, parked: new Map(), collections: new Map() };
    tags.set(tag, generation);
    for (const spec of specs) {
      const known = generation.collections.get(spec.name);
      if (known === undefined) generation.collections.set(spec.name, new MemoryCollection(specText(spec)));
      else checkSameSpec(known.spec, spec);
    }
    // Only older batches and retries of parked tenants, which fold older events again, need tombstones.
    const { checkpoint, parked, collections } = generation;
    if (checkpoint !== undefined && parked.size === 0)
      for (const each of collections.values()) each.sweep(checkpoint);
  };

  const commit = ({ generation, fence, writes, checkpoint }: BatchWrite): void => {
    leases.check(leaseNameOf(generation), fence);
    const { projection, tag } = generation;
    const found = generationOf(generation);
    if (checkpoint !== undefined && (found === undefined || (found.checkpoint ?? '') > checkpoint))
      throw new Fenced(`the checkpoint of ${projection}@${tag} is not before ${checkpoint}`);
    // All documents are made before the first is kept, so that a refused document leaves nothing of the batch.
    const made = writes.map((write) => {
      const collection = found?.collections.get(write.collection);
      if (collection === undefined)
        throw new Error(`collection ${write.collection} of ${projection}@${tag} is not prepared`);
      return { collection, write, held: collection.made(write) };
    });
    for (const { collection, write, held } of made) collection.keep(write.tenant, write.id, held);
    if (found !== undefined && checkpoint !== undefined) found.checkpoint = checkpoint;
  };

  const stateOf = (generation: GenerationId): GenerationState => {
    const { checkpoint, parked } = generationOf(generation) ?? { checkpoint: undefined, parked: undefined };
    const all = [...(parked?.values() ?? [])];
    return { checkpoint, parked: all.sort((a, b) => compareText(a.tenant, b.tenant)) };
  };

  const parkedIn = (generation: GenerationId, fence: number): Map<string, ParkedTenant> => {
    leases.check(leaseNameOf(generation), fence);
    return generationOf(generation)?.parked ?? new Map();
  };

  return {
    ...memoryProgress(leases),
    prepare: async (generation, specs) => prepare(generation, specs),
    load: async (generation, keys) => keys.map((key) => collectionOf(generation, key.collection)?.load(key)),
    get: async (generation, key) => collectionOf(generation, key.collection)?.load(key),
    commit: async (batch) => commit(batch),
    saveCheckpoints: async (all) =>
      all.map((each) => {
        try {
          commit({ ...each, writes: [] });
          return undefined;
        } catch (error) {
          if (error instanceof Fenced) return error;
          throw error;
        }
      }),
    find: async (generation, query) =>
      collectionOf(generation, query.collection)?.find(query) ?? { docs: [] },
    entries: async (generation, query) => collectionOf(generation, query.collection)?.entries(query) ?? [],
    findAll: async (generation, queries) =>
      queries.map((query) => {
        const found = collectionOf(generation, query.collection)?.find(
          { ...query, limit: ALL },
          Number.POSITIVE_INFINITY,
        );
        return found?.docs.map(({ value }) => value) ?? [];
      }),
    search: async (generation, query) => {
      const collection = collectionOf(generation, query.collection);
      return collection === undefined ? { docs: [] } : searchPage(collection, query);
    },
    ids: async (generation, query) => {
      const collection = collectionOf(generation, query.collection);
      return collection === undefined ? { ids: [] } : searchIds(collection, query);
    },
    count: async (generation, selection) => {
      const collection = collectionOf(generation, selection.collection);
      return collection === undefined ? 0 : countRows(collection, selection);
    },
    list: async (generation, collection, after, limit) =>
      collectionOf(generation, collection)?.list(after, limit) ?? [],
    state: async (generation) => stateOf(generation),
    states: async (generations) => generations.map(stateOf),
    park: async (generation, fence, parked) =>
      void parkedIn(generation, fence).set(parked.tenant, { ...parked }),
    unpark: async (generation, fence, tenant) => void parkedIn(generation, fence).delete(tenant),
    generations: async (projection) => [...(projections.get(projection)?.keys() ?? [])].sort(compareText),
    drop: async ({ projection, tag }) => void projections.get(projection)?.delete(tag),
    acquireLease: async (...lease) => leases.acquire(...lease),
    acquireLeases: async (names, owner, ttlMs) => names.map((name) => leases.acquire(name, owner, ttlMs)),
    releaseLease: async (lease) => leases.release(lease),
    isLeaseHeld: async (name) => leases.isHeld(name),
    ping: async () => undefined,
    close: async () => undefined,
  };
};
