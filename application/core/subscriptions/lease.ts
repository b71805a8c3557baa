import type { Logger } from '../../ports/logger.ts';
import type { Lease } from '../../ports/read-leases.ts';
import type { ReadStore } from '../../ports/read-store.ts';
import { backoffMs, LEASED_WORK } from '../concurrency/retry-policy.ts';
import { monotonic, pause } from '../runtime/timers.ts';

export interface LeaseOptions {
  readonly store: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
  readonly logger: Logger;
  readonly owner: string;
  readonly ttlMs: number;
}

/** Pauses until the next multiple of `ms`, so that all leases of a process are requested at the same moments. */
const pauseToNextMultiple = (ms: number, signal: AbortSignal): Promise<void> =>
  pause(ms - (monotonic() % ms), signal);

/**
 * Runs work under a lease until `signal` aborts: takes the lease, renews it every `ttlMs / 3`, aborts the work when the
 * lease is lost, and then begins again. Writes of followers carry the lease's fence: a former holder cannot write.
 */
export const holdLease = async (
  name: string,
  options: LeaseOptions,
  signal: AbortSignal,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const { store, logger, owner, ttlMs } = options;
  let failures = 0;
  const began = monotonic();
  while (!signal.aborted) {
    try {
      const lease = await store.acquireLease(name, owner, ttlMs);
      if (lease === undefined) {
        // Tries more often soon after the start: if the holder was just killed, the lease expires soon.
        const isNew = monotonic() - began < 2 * ttlMs;
        await pauseToNextMultiple(isNew ? ttlMs / 20 : ttlMs / 3, signal);
        continue;
      }
      await whileRenewed(lease, options, signal, work);
      failures = 0;
      // Limits how often the work restarts if it ends at once.
      await pause(50, signal);
    } catch (error) {
      failures += 1;
      logger.warn({ err: error, lease: name, failures }, 'work under a lease failed; it is restarted');
      await pause(backoffMs(LEASED_WORK, failures), signal);
    }
  }
};

/**
 * Runs work once under a lease that was just taken. Renews the lease, aborts the work if the lease is lost, and
 * releases the lease at the end.
 */
export const whileRenewed = async (
  lease: Lease,
  { store, owner, ttlMs }: LeaseOptions,
  signal: AbortSignal,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const held = new AbortController();
  const stop = (): void => held.abort();
  signal.addEventListener('abort', stop);
  // `signal` may have aborted while the lease was taken.
  if (signal.aborted) stop();
  let latest = lease;
  const renewing = (async () => {
    let renewedAt = monotonic();
    while (!held.signal.aborted) {
      await pauseToNextMultiple(ttlMs / 3, held.signal);
      if (held.signal.aborted) return;
      const askedAt = monotonic();
      try {
        const renewed = await store.acquireLease(lease.name, owner, ttlMs);
        // With a new fence the lease was lost in between: the work ends, and the new lease is released.
        if (renewed?.fence !== lease.fence) held.abort();
        latest = renewed ?? lease;
        renewedAt = askedAt;
      } catch {
        // Tolerates failed renewals for half the lifetime: a store failure hits all leases and would end all work.
        if (monotonic() - renewedAt > ttlMs / 2) held.abort();
      }
    }
  })();
  try {
    if (!held.signal.aborted) await work(lease, held.signal);
  } finally {
    held.abort();
    signal.removeEventListener('abort', stop);
    await renewing;
    await store.releaseLease(latest).catch(() => undefined);
  }
};
