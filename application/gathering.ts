/** So many writes are enough to go to disk together. */
const ENOUGH = 256;
/** Waiting for company never takes longer than this (ms). */
const MAX_WAIT_MS = 2;
/** A batch of so many tells that there are many callers, and that waiting for them pays. */
const COMPANY = 8;

/**
 * Group commit: decides when commands that wait are decided and go to disk together. A lone one goes at the end of its
 * turn of the event loop. Under load (the last commit served many), waiting is worth as long as a commit takes: callers
 * that the last one has just answered come back meanwhile and share the next fsync instead of queueing behind it.
 */
export class Gathering {
  readonly #waiting: () => number;
  readonly #flush: () => void;
  #lastSize = 0;
  #lastMs = 0;

  constructor(waiting: () => number, flush: () => void) {
    this.#waiting = waiting;
    this.#flush = flush;
  }

  /** Calls the flush once, soon. */
  start(): void {
    const since = performance.now();
    const patience = this.#lastSize >= COMPANY ? Math.min(this.#lastMs, MAX_WAIT_MS) : 0;
    let seen = this.#waiting();
    const look = (): void => {
      const now = this.#waiting();
      const waited = performance.now() - since;
      const stillComing = now > seen && waited < MAX_WAIT_MS;
      if (now < ENOUGH && (stillComing || waited < patience)) {
        seen = now;
        setImmediate(look);
      } else this.#flush();
    };
    setImmediate(look);
  }

  /** Told of each transaction: how many writes it served and how long it took. */
  committed(size: number, ms: number): void {
    this.#lastSize = size;
    this.#lastMs = ms;
  }
}
