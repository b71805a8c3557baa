import type { GrowthListener } from '../../application/ports/event-store.ts';

/** Tells any number of followers that the log has grown. */
export class Growth {
  readonly #listeners = new Set<GrowthListener>();

  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  readonly tell: GrowthListener = (growth) => {
    for (const listener of [...this.#listeners]) listener(growth);
  };

  /** @returns the way to hear no more */
  hear(listener: GrowthListener): () => void {
    // Of its own for each call, so that one who hears twice leaves twice.
    const own: GrowthListener = (growth) => listener(growth);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}
