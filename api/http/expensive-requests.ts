import type { ServerResponse } from 'node:http';
import { callerKey, ownerKey, type Principal } from '../../application/core/commands/principal.ts';
import { FairLimiter } from '../../application/core/concurrency/fair-limiter.ts';
import { clearTimeout, nextTick, setTimeout } from '../../application/core/runtime/timers.ts';
import { whenAnswered } from './answer-end.ts';
import { rateLimited } from './errors.ts';

/** Maximum of concurrent requests in this process and of a tenant; a tenant gets one slot even beyond the total. */
const LIMITS = { total: 8, perTenant: 2, reserved: 1 };
/** Maximum of waiting requests per `ownerKey`: a tenant, a partner, or all platform admins. */
const MAX_WAITING = 64;
const WAIT_MS = 20_000;

/**
 * Limits concurrent requests that cost much (`expensive` of a route): exports, previews, publications, lists of large
 * resources. Further requests wait, round-robin over tenants and their callers, or get 429 (docs/limits.md).
 */
export class ExpensiveRequests {
  readonly #limiter = new FairLimiter(LIMITS);
  readonly #waiting = new Map<string, number>();
  readonly #waitMs: number;

  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  /**
   * Resolves when the request may run; it counts as running until its answer is sent or its connection is closed.
   * @throws {DomainError} `rate_limited`
   */
  async begin(principal: Principal, response: ServerResponse): Promise<void> {
    const owner = ownerKey(principal);
    const waiting = this.#waiting.get(owner) ?? 0;
    if (waiting >= MAX_WAITING) throw rateLimited(this.#waitMs / 1000, 'expensive_requests');
    this.#waiting.set(owner, waiting + 1);
    const granted = this.#limiter.take(owner, callerKey(principal));
    const release = await this.#orGivenUp(granted, response);
    const left = (this.#waiting.get(owner) ?? 1) - 1;
    if (left === 0) this.#waiting.delete(owner);
    else this.#waiting.set(owner, left);
    if (release === undefined) {
      void granted.then((giveBack) => giveBack());
      throw rateLimited(this.#waitMs / 1000, 'expensive_requests');
    }
    whenAnswered(response, release);
    // Each request starts in its own tick, so that requests of other tenants are read in between.
    await nextTick();
  }

  /** Undefined when the wait was too long, or the client has disconnected. */
  async #orGivenUp(
    granted: Promise<() => void>,
    response: ServerResponse,
  ): Promise<(() => void) | undefined> {
    const { promise: over, resolve } = Promise.withResolvers<undefined>();
    const giveUp = (): void => resolve(undefined);
    const timeout = setTimeout(giveUp, this.#waitMs);
    response.once('close', giveUp);
    try {
      return await Promise.race([granted, over]);
    } finally {
      clearTimeout(timeout);
      response.off('close', giveUp);
    }
  }
}
