import type { Due } from './due-deliveries.ts';

/** Deliveries that one queue has looked at and not ended, at most a page and those under way: for metrics. */
export class WaitingDeliveries {
  readonly #dueAt = new Map<string, number>();

  /** Replaces all by a page of the queue, except those under way. */
  looked(page: readonly Due[], isUnderWay: (id: string) => boolean): void {
    for (const id of this.#dueAt.keys()) if (!isUnderWay(id)) this.#dueAt.delete(id);
    for (const { id, dueAt } of page) this.#dueAt.set(id, dueAt);
  }

  /** @param now due time (ms) of a delivery that was not looked at */
  started(id: string, now: number): void {
    if (!this.#dueAt.has(id)) this.#dueAt.set(id, now);
  }

  ended(id: string): void {
    this.#dueAt.delete(id);
  }

  clear(): void {
    this.#dueAt.clear();
  }

  /** Number, and the first due time (ms). */
  get summary(): { readonly count: number; readonly dueAt: number } {
    let first = Number.POSITIVE_INFINITY;
    for (const dueAt of this.#dueAt.values()) first = Math.min(first, dueAt);
    return { count: this.#dueAt.size, dueAt: first };
  }
}
