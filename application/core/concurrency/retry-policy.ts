import { DomainError } from '../../../domain/core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import { StoreUnavailable } from '../../ports/event-store.ts';
import { randomNumber } from '../runtime/random.ts';
import { pause, timer } from '../runtime/timers.ts';
import { type RetryConfig, throwError } from '../rxjs.ts';

/** Pauses between tries (ms): each is twice the pause before, up to `longestMs`. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** For a store or server that does not answer. */
export const STORE_AWAY: Backoff = { firstMs: 200, longestMs: 5000 };
/** For failed work that runs under a lease. */
export const LEASED_WORK: Backoff = { firstMs: 200, longestMs: 5000 };
/** For one event that a subscriber could not handle. */
export const ONE_EVENT: Backoff = { firstMs: 100, longestMs: 800 };

/** The pause (ms) after `failures` failures in a row, shortened at random by up to half of it (jitter). */
export const backoffMs = ({ firstMs, longestMs }: Backoff, failures: number): number =>
  Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.5 + randomNumber() / 2);

/**
 * Config for `retry` of rxjs; without `count` it retries for ever. `isFinal` is called at each failure; when it returns
 * true, the error is rethrown.
 */
export const retryConfig = (
  backoff: Backoff,
  options: { readonly count?: number; readonly isFinal?: (error: unknown, failures: number) => boolean } = {},
): RetryConfig => ({
  ...(options.count === undefined ? {} : { count: options.count }),
  resetOnSuccess: true,
  delay: (error: unknown, failures) =>
    options.isFinal?.(error, failures) === true
      ? throwError(() => error)
      : timer(backoffMs(backoff, failures)),
});

/** No call succeeded within the limit of a {@link RetryPolicy}. */
export class OutOfReach extends Error {
  override readonly name = 'OutOfReach';
}

/** The signal aborted; the work continues on another node or later. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Whether a store did not answer, or a `DomainError` says `unavailable`, such as for a stream that is too busy. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof DomainError && error.code === 'unavailable');

const TRANSIENT = new Set(['unavailable', 'read_model_behind', 'conflict']);

/** Whether a retry may succeed. */
export const isTransient = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof DomainError && TRANSIENT.has(error.code));

const LONGEST_PAUSE_MS = 2000;

/** Retries transient errors until no call has succeeded for `limitMs`. */
export class RetryPolicy {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #limitMs: number;
  readonly #backoff: Backoff;
  #succeededAt: number;

  constructor(
    options: { readonly clock: Clock; readonly limitMs: number; readonly pauseMs?: number },
    signal: AbortSignal,
  ) {
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
    this.#backoff = { firstMs: options.pauseMs ?? 50, longestMs: LONGEST_PAUSE_MS };
    this.#signal = signal;
    this.#succeededAt = this.#clock.now();
  }

  /** @throws {OutOfReach}, {Interrupted}, and errors that are not transient */
  retry<T>(work: (tries: number) => Promise<T>): Promise<T> {
    return this.#within(this.#limitMs, work);
  }

  /** Like {@link retry}, without a limit. @throws {Interrupted}, and errors that are not transient */
  retryForever<T>(work: (tries: number) => Promise<T>): Promise<T> {
    return this.#within(Number.POSITIVE_INFINITY, work);
  }

  async #within<T>(limitMs: number, work: (tries: number) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      if (this.#signal.aborted) throw new Interrupted();
      try {
        const result = await work(tries);
        this.#succeededAt = this.#clock.now();
        return result;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (this.#clock.now() - this.#succeededAt > limitMs) throw new OutOfReach();
        await pause(backoffMs(this.#backoff, tries + 1), this.#signal);
      }
    }
  }
}
