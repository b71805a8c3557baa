import type { GrowthListener } from '../../application/ports/event-store.ts';

/** Notifies listeners that the log has grown. */
export class Growth {
  readonly #listeners = new Set<GrowthListener>();

  get hasListeners(): boolean {
    return this.#listeners.size > 0;
  }

  readonly notify: GrowthListener = (growth) => {
    for (const listener of [...this.#listeners]) listener(growth);
  };

  /** @returns a function that unsubscribes the listener */
  subscribe(listener: GrowthListener): () => void {
    // A new function per call, so that a listener subscribed twice unsubscribes twice.
    const own: GrowthListener = (growth) => listener(growth);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
