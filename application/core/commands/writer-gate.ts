/**
 * Tracks running writers of this process by name, so that a change of rules can wait for writers under the old rules.
 */
export class WriterGate {
  readonly #writers = new Map<string, Set<Promise<void>>>();

  async within<T>(name: string, write: () => Promise<T>): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const writers = this.#writers.get(name) ?? new Set();
    this.#writers.set(name, writers.add(promise));
    try {
      return await write();
    } finally {
      writers.delete(promise);
      if (writers.size === 0 && this.#writers.get(name) === writers) this.#writers.delete(name);
      resolve();
    }
  }

  /** Resolves when all writers of `name` that run at the time of the call have ended. */
  async drained(name: string): Promise<void> {
    await Promise.all(this.#writers.get(name) ?? []);
  }
}
