import type { Position } from '../ports/event-store.ts';

/** Names a queue: deliveries replayed in order form a separate one. */
export interface QueueName {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly ordered: boolean;
}

export interface Due {
  readonly id: string;
  /** ms */
  readonly dueAt: number;
}

/** Waiting deliveries, from a read model. */
export interface DeliveryQueue {
  /** Subscriptions with deliveries, read at a position or later. */
  subscriptions(seen: Position | undefined): AsyncIterable<Pick<QueueName, 'tenantId' | 'subscriptionId'>>;
  /** The first waiting deliveries, due or not; read at a position or later, if one is given. */
  pending(name: QueueName, limit: number, seen: Position | undefined): Promise<readonly Due[]>;
}

const PAGE = 256;
/** Interval (ms) of waits for the read model while pages are otherwise read without waiting. */
const AS_IT_STANDS_MS = 1_000;
/** Most finished deliveries remembered until the read model has them. */
const MAX_DONE = 1_024;

/**
 * The waiting deliveries of a queue, from the read model. While more than a page waits, pages are read without waiting
 * for the read model, leaving out deliveries known to be finished: waiting after each attempt would make it fold in
 * small steps. Only a page read with waiting can show that the queue is empty.
 */
export class DueDeliveries {
  readonly #name: QueueName;
  readonly #queue: DeliveryQueue;
  readonly #done = new Set<string>();
  #isLong = false;
  /** When the read model was last waited for (ms). */
  #waitedAt = Number.NEGATIVE_INFINITY;

  constructor(name: QueueName, queue: DeliveryQueue) {
    this.#name = name;
    this.#queue = queue;
  }

  /** Records that an attempt has ended. */
  done(id: string): void {
    if (this.#isLong) this.#done.add(id);
  }

  /**
   * @param now for what is due (ms)
   * @param seen the position that the queue has seen
   * @returns deliveries in the order of their attempts, due ones first
   */
  async next(
    now: number,
    seen: Position | undefined,
    isUnderWay: (id: string) => boolean,
    underWay: number,
  ): Promise<readonly Due[]> {
    const isRecent = Math.abs(now - this.#waitedAt) < AS_IT_STANDS_MS;
    if (this.#isLong && isRecent && !this.#name.ordered && this.#done.size < MAX_DONE) {
      const found = await this.#queue.pending(this.#name, PAGE + underWay + this.#done.size, undefined);
      const due = found.filter(({ id, dueAt }) => dueAt <= now && !this.#done.has(id) && !isUnderWay(id));
      this.#forgetKnown(found);
      if (due.length > 0) return due;
    }
    // A delivery that ends during the read may still be in its result.
    this.#done.clear();
    this.#isLong = true;
    this.#waitedAt = now;
    const limit = PAGE + underWay;
    const found = await this.#queue.pending(this.#name, limit, seen);
    const waiting = found.filter(({ id }) => !this.#done.has(id) && !isUnderWay(id));
    this.#isLong = found.length >= limit;
    if (!this.#isLong) this.#done.clear();
    return waiting;
  }

  /** Forgets finished deliveries that the read model no longer returns. */
  #forgetKnown(found: readonly Due[]): void {
    const waiting = new Set(found.map(({ id }) => id));
    for (const id of this.#done) if (!waiting.has(id)) this.#done.delete(id);
  }
}
