import { expect } from 'chai';
import type { Position } from '../../../application/ports/event-store.ts';
import {
  type CollectionSpec,
  type DocWrite,
  Fenced,
  type GenerationId,
  type JsonObject,
  leaseNameOf,
  type ReadStore,
} from '../../../application/ports/read-store.ts';
import { positionOf } from '../../../infrastructure/read-store/stored-values.ts';

/** Opens an adapter for the suite, which closes every store that it opens. */
export interface ReadStoreHarness {
  /** Opens the same store again, like another process. */
  open(): Promise<ReadStore>;
  /**
   * Opens a store whose commits await `between` after the documents and before the checkpoint; undefined where
   * that is impossible.
   */
  readonly openInterrupted?: ((between: () => Promise<void>) => Promise<ReadStore>) | undefined;
  /** True where a batch is visible as a whole or not at all, and ranges read together are of one moment. */
  readonly isAtomic: boolean;
  /** Runs of each property test. */
  readonly runs: number;
  dispose(): Promise<void>;
}

/** Gives parts of the suite the opened store, which exists only once tests run. */
export interface Context {
  store(): ReadStore;
  harness(): ReadStoreHarness;
}

export const at = (n: number): Position => positionOf(String(n).padStart(12, '0'));

let generations = 0;
export const newGeneration = (): GenerationId => {
  generations += 1;
  return { projection: `p${process.pid}-${Date.now().toString(36)}-${generations}`, tag: 'v1' };
};

export const DOCS: CollectionSpec = { name: 'docs', indexes: [{ name: 'by_n', fields: ['n'] }] };

/** A prepared generation under a lease, with shorthands for one collection and one tenant. */
export interface Workbench {
  readonly generation: GenerationId;
  readonly fence: number;
  commit(writes: readonly DocWrite[], checkpoint?: number, fence?: number): Promise<void>;
  value(id: string, tenant?: string): Promise<JsonObject | undefined>;
  /** Ids in the order of the collection's first index. */
  ids(tenant?: string): Promise<string[]>;
}

export async function workbench(
  store: ReadStore,
  spec: CollectionSpec = DOCS,
  ttlMs = 60_000,
): Promise<Workbench> {
  const generation = newGeneration();
  await store.prepare(generation, [spec]);
  const lease = await store.acquireLease(leaseNameOf(generation), 'tester', ttlMs);
  if (lease === undefined) throw new Error('a fresh lease was not given');
  return {
    generation,
    fence: lease.fence,
    commit: (writes, checkpoint, fence = lease.fence) =>
      store.commit({
        generation,
        fence,
        writes,
        ...(checkpoint === undefined ? {} : { checkpoint: at(checkpoint) }),
      }),
    value: async (id, tenant = 'acme') =>
      (await store.get(generation, { collection: spec.name, tenant, id }))?.value,
    ids: async (tenant = 'acme') => {
      const index = spec.indexes[0]?.name ?? '';
      const { docs } = await store.find(generation, { collection: spec.name, tenant, index, limit: 1_000 });
      return docs.map((doc) => doc.id);
    },
  };
}

/** A write to the collection `docs` of tenant `acme`. */
export const put = (id: string, position: number, value: JsonObject | null, tenant = 'acme'): DocWrite => ({
  collection: DOCS.name,
  tenant,
  id,
  position: at(position),
  value,
});

export async function rejectsWith(promise: Promise<unknown>, type: abstract new (...args: never[]) => Error) {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error, `a rejection with ${type.name}`).to.be.instanceOf(type);
}

export const isFenced = (promise: Promise<unknown>): Promise<void> => rejectsWith(promise, Fenced);

/** Waits until `condition` holds; fails after five seconds. */
export async function until<T>(condition: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + 5_000;
  for (;;) {
    const value = await condition();
    if (value !== undefined) return value;
    if (Date.now() > deadline) throw new Error('the condition never held');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
