import type { Position } from '../ports/event-store.ts';

/** Whose deliveries, and which: those that are replayed in order go one by one. */
export interface LaneName {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly ordered: boolean;
}

export interface Due {
  readonly id: string;
  /** ms */
  readonly dueAt: number;
}

/** What waits to be delivered, from a read model. */
export interface DeliveryQueue {
  /** Subscriptions that have had deliveries, as of a place in the log. */
  subscriptions(seen: Position | undefined): AsyncIterable<Pick<LaneName, 'tenantId' | 'subscriptionId'>>;
  /** The first that are due, or will be; as of a place in the log or later, where one is given. */
  pending(lane: LaneName, limit: number, seen: Position | undefined): Promise<readonly Due[]>;
}

const PAGE = 256;
/** The read model is waited for so often all the same: what has changed behind the present page has its turn. */
const AS_IT_STANDS_MS = 1_000;
/** Of so many that are done it is remembered that they are, while the read model may not know it. */
const MAX_DONE = 1_024;

/**
 * What waits in a lane, from the read model. While there is more than a page, the next page is taken from the read model
 * as it stands, without what is known to be done: who waited for it to hear of the last attempt would stand still, and
 * make it fold in small steps. That nothing is left is only said by one that has come as far as the lane.
 */
export class DueDeliveries {
  readonly #name: LaneName;
  readonly #queue: DeliveryQueue;
  readonly #done = new Set<string>();
  #isLong = false;
  /** When the read model was last waited for (ms). */
  #waitedAt = Number.NEGATIVE_INFINITY;

  constructor(name: LaneName, queue: DeliveryQueue) {
    this.#name = name;
    this.#queue = queue;
  }

  /** An attempt has been recorded. */
  done(id: string): void {
    if (this.#isLong) this.#done.add(id);
  }

  /**
   * @param now for what is due (ms)
   * @param seen how far in the log the lane has heard
   * @returns in the order in which they are to be attempted, those that are due before those that will be
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
    // What ends while the read model is asked may be in its answer still.
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

  /** What is done stood before all that waits, and is there no more once the read model knows of it. */
  #forgetKnown(found: readonly Due[]): void {
    const waiting = new Set(found.map(({ id }) => id));
    for (const id of this.#done) if (!waiting.has(id)) this.#done.delete(id);
  }
}
