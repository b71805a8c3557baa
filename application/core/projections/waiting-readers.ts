/** How long (ms) after somebody waited batches stay small: who reads once reads again. */
const LASTING_MS = 500;

/** Whether readers wait for what is folded in this thread, or did a moment ago: of any projection, for all share it. */
export class WaitingReaders {
  readonly #now: () => number;
  #last = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Somebody begins to wait. */
  note(): void {
    this.#last = this.#now();
  }

  get isOn(): boolean {
    return this.#now() - this.#last < LASTING_MS;
  }
}
