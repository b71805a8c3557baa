/** Lets any number of subscribers sleep until the log grows, they are aborted or the store is closed. */
export class Wakeup {
  readonly #sleepers = new Set<Sleeper>();

  /** Wakes everybody who sleeps now. */
  wake(): void {
    for (const sleeper of this.#sleepers) sleeper.wake();
  }

  /** For one who sleeps again and again; {@link Sleeper.leave} ends it. */
  enter(signal: AbortSignal): Sleeper {
    const sleeper = new Sleeper(signal, () => this.#sleepers.delete(sleeper));
    this.#sleepers.add(sleeper);
    return sleeper;
  }
}

/**
 * It is entered once and not for each sleep, of which there are thousands a second: listeners of a signal are chained, and
 * those that were taken out keep the ones after them alive for long.
 */
export class Sleeper {
  readonly #signal: AbortSignal;
  readonly #left: () => void;
  #resume: () => void = () => undefined;

  constructor(signal: AbortSignal, left: () => void) {
    this.#signal = signal;
    this.#left = left;
    signal.addEventListener('abort', this.wake);
  }

  readonly wake = (): void => this.#resume();

  /** Resolves at the next {@link Wakeup.wake}, at the abort or when it leaves. One sleep at a time. */
  sleep(): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  leave(): void {
    this.#signal.removeEventListener('abort', this.wake);
    this.#left();
    this.wake();
  }
}

/** Sleeps without keeping the process alive; an abort ends it early. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds).unref();
    if (signal.aborted) done();
    else signal.addEventListener('abort', done);
  });
}

/** Lets everything else that is ready in this turn of the event loop go first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
