import { type RetryConfig, throwError, timer } from 'rxjs';
import { DomainError } from '../../../domain/core/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import { StoreUnavailable } from '../../ports/event-store.ts';
import { pause } from './pause.ts';

/** Pauses between tries (ms): each twice the one before, up to the longest. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** A store or a server that does not answer. */
export const STORE_AWAY: Backoff = { firstMs: 200, longestMs: 5000 };
/** Work under a lease that failed: it begins again from its checkpoint. */
export const LEASED_WORK: Backoff = { firstMs: 200, longestMs: 5000 };
/** One event that a subscriber could not handle. */
export const ONE_EVENT: Backoff = { firstMs: 100, longestMs: 800 };

/** The pause (ms) after so many failures in a row: up to half of it is taken away at random, so that retries spread. */
export const backoffMs = ({ firstMs, longestMs }: Backoff, failures: number): number =>
  Math.min(firstMs * 2 ** (failures - 1), longestMs) * (0.5 + Math.random() / 2);

/**
 * The policy for `retry` of rxjs; without `count` it goes on for ever. `isFinal` is asked at each failure: true gives up
 * with its error.
 */
export const retried = (
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

/** Nothing could be done for as long as a commit bears it. */
export class OutOfReach extends Error {
  override readonly name = 'OutOfReach';
}

/** The work goes on elsewhere, or later. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

const TRANSIENT = new Set(['unavailable', 'read_model_behind', 'conflict']);

/** Whether the same may well succeed a little later. */
export const isTransient = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof DomainError && TRANSIENT.has(error.code));

const LONGEST_PAUSE_MS = 2000;

/** Tries again what fails for a while, until nothing at all has succeeded for too long. */
export class RetryPolicy {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #limitMs: number;
  readonly #pauseMs: number;
  #succeededAt: number;

  constructor(
    options: { readonly clock: Clock; readonly limitMs: number; readonly pauseMs?: number },
    signal: AbortSignal,
  ) {
    this.#clock = options.clock;
    this.#limitMs = options.limitMs;
    this.#pauseMs = options.pauseMs ?? 50;
    this.#signal = signal;
    this.#succeededAt = this.#clock.now();
  }

  /** @throws {OutOfReach}, {Interrupted}, and what is not transient */
  async with<T>(work: (tries: number) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      if (this.#signal.aborted) throw new Interrupted();
      try {
        const result = await work(tries);
        this.#succeededAt = this.#clock.now();
        return result;
      } catch (error) {
        if (!isTransient(error)) throw error;
        if (this.#clock.now() - this.#succeededAt > this.#limitMs) throw new OutOfReach();
        const backoff = { firstMs: this.#pauseMs, longestMs: LONGEST_PAUSE_MS };
        await pause(backoffMs(backoff, tries + 1), this.#signal);
      }
    }
  }

  /** As {@link with}, for as long as it takes. @throws {Interrupted}, and what is not transient */
  async always<T>(work: (tries: number) => Promise<T>): Promise<T> {
    for (let tries = 0; ; tries += 1) {
      try {
        return await this.with((inner) => work(tries + inner));
      } catch (error) {
        if (!(error instanceof OutOfReach)) throw error;
      }
      await pause(this.#pauseMs, this.#signal);
    }
  }
}
