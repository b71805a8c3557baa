/** Lets any number of subscribers sleep until the log grows, they are aborted or the store is closed. */
export class Wakeup {
  readonly #waiting = new Set<() => void>();

  /** Wakes everybody who sleeps now. */
  wake(): void {
    for (const resume of this.#waiting) resume();
  }

  /** Resolves at the next {@link wake} or at the abort. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const resume = (): void => {
        this.#waiting.delete(resume);
        signal.removeEventListener('abort', resume);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.#waiting.add(resume);
      signal.addEventListener('abort', resume);
    });
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
