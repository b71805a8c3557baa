import type { Logger } from '../../ports/logger.ts';
import type { Lease, ReadStore } from '../../ports/read-store.ts';
import { pause } from '../concurrency/pause.ts';
import { backoffMs, LEASED_WORK } from '../concurrency/retry-policy.ts';

export { pause } from '../concurrency/pause.ts';

/**
 * Runs work while a lease is held, again and again until stopped: waits for the lease, renews it at a third of its
 * life, ends the work when it is lost. What the work writes carries the lease's fence, so that a holder that was
 * frozen past its time can change nothing.
 */
export interface LeaseOptions {
  readonly store: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
  readonly logger: Logger;
  readonly owner: string;
  readonly ttlMs: number;
}

export const holdLease = async (
  name: string,
  options: LeaseOptions,
  signal: AbortSignal,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const { store, logger, owner, ttlMs } = options;
  let failures = 0;
  while (!signal.aborted) {
    try {
      const lease = await store.acquireLease(name, owner, ttlMs);
      if (lease === undefined) {
        await pause(ttlMs / 3, signal);
        continue;
      }
      await whileRenewed(lease, options, signal, work);
      failures = 0;
      // Work that ends by itself at once must not keep everything else from its turn.
      await pause(50, signal);
    } catch (error) {
      failures += 1;
      logger.warn({ err: error, lease: name, failures }, 'work under a lease failed; it starts again');
      await pause(backoffMs(LEASED_WORK, failures), signal);
    }
  }
};

/** Runs work under a lease that was just taken: renews it, ends the work when it is lost, and lets go of it. */
export const whileRenewed = async (
  lease: Lease,
  { store, owner, ttlMs }: LeaseOptions,
  signal: AbortSignal,
  work: (lease: Lease, signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const held = new AbortController();
  const stop = (): void => held.abort();
  signal.addEventListener('abort', stop);
  // Stopped while the lease was asked for: nobody would tell the work to end.
  if (signal.aborted) stop();
  const renewing = (async () => {
    while (!held.signal.aborted) {
      await pause(ttlMs / 3, held.signal);
      if (held.signal.aborted) return;
      const renewed = await store.acquireLease(lease.name, owner, ttlMs).catch(() => undefined);
      if (renewed?.fence !== lease.fence) held.abort();
    }
  })();
  try {
    if (!held.signal.aborted) await work(lease, held.signal);
  } finally {
    held.abort();
    signal.removeEventListener('abort', stop);
    await renewing;
    await store.releaseLease(lease).catch(() => undefined);
  }
};
