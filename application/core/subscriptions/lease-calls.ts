import type { Lease, ReadStore } from '../../ports/read-store.ts';
import { nextTick } from '../runtime/timers.ts';

interface Asked {
  readonly name: string;
  readonly resolve: (lease: Lease | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The store, with one call for all leases that are taken or renewed in the same tick: a worker has some fifty, and asks for
 * them at the same moments (decision 67).
 */
export const withGatheredLeases = (store: ReadStore): ReadStore => {
  const gathered = new Map<string, Asked[]>();

  const take = async (key: string, owner: string, ttlMs: number): Promise<void> => {
    await nextTick();
    const asked = gathered.get(key) ?? [];
    gathered.delete(key);
    try {
      const leases = await store.acquireLeases(
        asked.map(({ name }) => name),
        owner,
        ttlMs,
      );
      for (const [at, { resolve }] of asked.entries()) resolve(leases[at]);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };

  return {
    ...store,
    acquireLease: (name, owner, ttlMs) =>
      new Promise((resolve, reject) => {
        const key = JSON.stringify([owner, ttlMs]);
        const known = gathered.get(key);
        if (known !== undefined) {
          known.push({ name, resolve, reject });
          return;
        }
        gathered.set(key, [{ name, resolve, reject }]);
        void take(key, owner, ttlMs);
      }),
  };
};
