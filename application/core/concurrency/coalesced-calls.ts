import type { CheckpointWrite, GenerationId, ReadStore } from '../../ports/read-store.ts';
import { nextTick } from '../runtime/timers.ts';

interface Asked<Key, Value> extends PromiseWithResolvers<Value> {
  readonly key: Key;
}

/** Merges all calls of one tick into one call of `answer`. `answer` settles each merged call, or rejects for all. */
const coalesced = <Key, Value>(
  answer: (asked: readonly Asked<Key, Value>[]) => Promise<void>,
): ((key: Key) => Promise<Value>) => {
  let asked: Asked<Key, Value>[] = [];
  const run = async (): Promise<void> => {
    await nextTick();
    const all = asked;
    asked = [];
    try {
      await answer(all);
    } catch (error) {
      for (const { reject } of all) reject(error);
    }
  };
  return (key) => {
    const one = { key, ...Promise.withResolvers<Value>() };
    if (asked.push(one) === 1) void run();
    return one.promise;
  };
};

/** Like {@link coalesced}; `call` returns one value per key, in the order of the keys. */
const coalescedValues = <Key, Value>(
  call: (keys: readonly Key[]) => Promise<readonly Value[]>,
): ((key: Key) => Promise<Value>) =>
  coalesced<Key, Value>(async (asked) => {
    const values = (await call(asked.map(({ key }) => key))).values();
    for (const { resolve, reject } of asked) {
      const { value, done } = values.next();
      if (done === true) reject(new Error('the store answered fewer than it was asked for'));
      else resolve(value);
    }
  });

/**
 * Wraps a store and merges calls of the same tick into one (decision 67): about forty projections and subscribers of a
 * process renew leases, store checkpoints and read generations at the same moments.
 */
export const withCoalescedCalls = (store: ReadStore): ReadStore => {
  const leases = new Map<string, ReadStore['acquireLease']>();
  const leasesOf = (owner: string, ttlMs: number): ReadStore['acquireLease'] =>
    coalescedValues((names: readonly string[]) => store.acquireLeases(names, owner, ttlMs));
  const save = coalesced<CheckpointWrite, void>(async (asked) => {
    const refusals = await store.saveCheckpoints(asked.map(({ key }) => key));
    for (const [at, { resolve, reject }] of asked.entries()) {
      const refusal = refusals[at];
      if (refusal === undefined) resolve();
      else reject(refusal);
    }
  });
  return {
    ...store,
    acquireLease: (name, owner, ttlMs) => {
      const key = `${ttlMs} ${owner}`;
      const acquire = leases.get(key) ?? leasesOf(owner, ttlMs);
      leases.set(key, acquire);
      return acquire(name, owner, ttlMs);
    },
    commit: ({ generation, fence, writes, checkpoint }) =>
      writes.length === 0 && checkpoint !== undefined
        ? save({ generation, fence, checkpoint })
        : store.commit({ generation, fence, writes, checkpoint }),
    state: coalescedValues((generations: readonly GenerationId[]) => store.states(generations)),
    activeGeneration: coalescedValues((projections: readonly string[]) =>
      store.activeGenerations(projections),
    ),
  };
};
