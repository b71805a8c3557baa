import { monotonic } from '../runtime/timers.ts';

/** How long (ms) batches stay small after a reader waited. */
const LASTING_MS = 500;

/** Whether readers of any projection in this thread wait, or waited recently. */
export class WaitingReaders {
  readonly #now: () => number;
  #last = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => monotonic()) {
    this.#now = now;
  }

  /** Records that a reader starts to wait. */
  note(): void {
    this.#last = this.#now();
  }

  get isOn(): boolean {
    return this.#now() - this.#last < LASTING_MS;
  }
}
