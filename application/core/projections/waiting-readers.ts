import { monotonic } from '../runtime/timers.ts';

/** How long (ms) batches stay small after a reader began to wait. */
const LASTING_MS = 500;

/** Tells whether a reader of any projection in this thread began to wait within the last `LASTING_MS`. */
export class WaitingReaders {
  #last = Number.NEGATIVE_INFINITY;

  /** Records that a reader starts to wait. */
  note(): void {
    this.#last = monotonic();
  }

  get isOn(): boolean {
    return monotonic() - this.#last < LASTING_MS;
  }
}
