import { callerKey, ownerKey, type Principal } from '../../application/core/commands/principal.ts';
import { FairLimiter } from '../../application/core/concurrency/fair-limiter.ts';
import type { PendingAnswers } from './pending-answers.ts';

/**
 * Maximum of concurrent reads of this process, in total and of a tenant; a tenant gets one slot even beyond the total.
 * Holds for searches and for other reads separately. A page has at most about 1 MiB, so the lists of a tenant add at
 * most about 32 MiB to its unread answers.
 */
const LIMITS = { total: 64, perTenant: 16, reserved: 1 };

/** Releases the slot of a request; further calls have no effect. */
export type ReleaseSlot = () => void;

/**
 * Limits how many reads are between their admission and their answer; further reads wait, round-robin over tenants
 * (docs/limits.md). `PendingAnswers` counts an answer only once it exists, so it would not limit a burst of requests
 * that are all admitted before the first answer.
 */
export class ConcurrentReads {
  readonly #plain = new FairLimiter(LIMITS);
  /** Separate, because searches wait long for each other, and other reads of the tenant must not wait for searches. */
  readonly #searches = new FairLimiter(LIMITS);

  /** @returns a function that releases the slot, without a promise while a slot is free */
  take(principal: Principal, isSearch: boolean): ReleaseSlot | Promise<ReleaseSlot> {
    const limiter = isSearch ? this.#searches : this.#plain;
    const owner = ownerKey(principal);
    const free = limiter.tryTake(owner);
    if (free !== undefined) return once(free);
    return limiter.take(owner, callerKey(principal)).then(once);
  }
}

/** Parameters of a query that may look through many records. */
const SEARCHES = /(?:^|&)(?:filter|sort|q)=/;

/** The parts of an exchange that a read needs. */
interface Reading {
  readonly search: string;
  readonly reads: ConcurrentReads;
  readonly pending: Pick<PendingAnswers, 'admit'>;
  releaseReadSlot: ReleaseSlot | undefined;
}

/** Waits for a slot of {@link ConcurrentReads}. @throws {DomainError} 503 */
export const takeReadSlot = async (exchange: Reading, principal: Principal | undefined): Promise<void> => {
  if (principal === undefined) return;
  const slot = exchange.reads.take(principal, SEARCHES.test(exchange.search));
  if (!(slot instanceof Promise)) {
    exchange.releaseReadSlot = slot;
    return;
  }
  exchange.releaseReadSlot = await slot;
  // Checks again: other answers may have used up the caller's limit of unread answers.
  exchange.pending.admit(principal);
};

const once = (release: ReleaseSlot): ReleaseSlot => {
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    release();
  };
};
