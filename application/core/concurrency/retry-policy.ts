import { DomainError } from '../../domain/errors.ts';
import { pause } from '../lease-holder.ts';
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/event-store.ts';

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
export class Patience {
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
        const longest = Math.min(this.#pauseMs * 2 ** tries, LONGEST_PAUSE_MS);
        await pause(longest * (0.5 + Math.random() / 2), this.#signal);
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
