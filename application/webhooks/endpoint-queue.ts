import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';

/** Names a queue: deliveries replayed in order form a separate queue. */
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
export interface PendingDeliveries {
  /** Subscriptions with waiting deliveries, as of `seen` or later. */
  subscriptions(seen: Position | undefined): AsyncIterable<Pick<QueueName, 'tenantId' | 'subscriptionId'>>;
  /** The first waiting deliveries, even if they are not due yet; as of `seen` or later if `seen` is given. */
  of(name: QueueName, limit: number, seen: Position | undefined): Promise<readonly Due[]>;
}

const PAGE = 256;
/** Longest time (ms) in which pages are read without waiting for the read model. */
const MAX_UNWAITED_MS = 1_000;
/** Limit of ended deliveries that are remembered until the read model no longer returns them. */
const MAX_ENDED = 1_024;

/**
 * Holds the deliveries of a queue: a page of waiting deliveries from the read model, and the deliveries under way.
 * A long unordered queue (more than a page waits) is read without waiting for the read model, since a wait after each
 * attempt would make the read model fold in small steps. Deliveries that ended meanwhile are left out. Only a page that
 * was read after a wait can show that the queue is empty.
 */
export class EndpointQueue extends WithDeps<{
  readonly name: QueueName;
  readonly pending: PendingDeliveries;
}> {
  /** Due times (ms) of the last page's deliveries that were not started yet. */
  #waiting = new Map<string, number>();
  /** Due times (ms) of started deliveries; undefined for a delivery that the summary no longer counts. */
  readonly #underWay = new Map<string, number | undefined>();
  /** Ended deliveries that the read model may still return. */
  readonly #ended = new Set<string>();
  #isLong = false;
  /** Time (ms) of the last wait for the read model. */
  #waitedAt = Number.NEGATIVE_INFINITY;

  /** Number of deliveries under way. */
  get underWay(): number {
    return this.#underWay.size;
  }

  isUnderWay(id: string): boolean {
    return this.#underWay.has(id);
  }

  /** @param now present time (ms), taken as the due time of a delivery that is not in the page */
  start(id: string, now: number): void {
    this.#underWay.set(id, this.#waiting.get(id) ?? now);
    this.#waiting.delete(id);
  }

  /** Records that an attempt has ended, or that the delivery was dropped. */
  end(id: string): void {
    this.#underWay.delete(id);
    if (this.#isLong) this.#ended.add(id);
  }

  /**
   * Reads the next page.
   * @param now present time (ms), which decides which deliveries are due
   * @param seen position that the read model must have folded
   * @returns deliveries in the order of their attempts, due deliveries first
   */
  async next(now: number, seen: Position | undefined): Promise<readonly Due[]> {
    const underWay = this.#underWay.size;
    const isRecent = Math.abs(now - this.#waitedAt) < MAX_UNWAITED_MS;
    if (this.#isLong && isRecent && !this.deps.name.ordered && this.#ended.size < MAX_ENDED) {
      const limit = PAGE + underWay + this.#ended.size;
      const found = await this.deps.pending.of(this.deps.name, limit, undefined);
      const due = this.#open(found).filter(({ dueAt }) => dueAt <= now);
      this.#forgetUnlisted(found);
      if (due.length > 0) return this.#take(due);
    }
    // A delivery that ends during the read is remembered, since the result may still have it.
    this.#ended.clear();
    this.#isLong = true;
    this.#waitedAt = now;
    const limit = PAGE + underWay;
    const found = await this.deps.pending.of(this.deps.name, limit, seen);
    const waiting = this.#open(found);
    this.#isLong = found.length >= limit;
    if (!this.#isLong) this.#ended.clear();
    return this.#take(waiting);
  }

  #open(found: readonly Due[]): readonly Due[] {
    return found.filter(({ id }) => !this.#ended.has(id) && !this.#underWay.has(id));
  }

  #take(page: readonly Due[]): readonly Due[] {
    this.#waiting = new Map(page.map(({ id, dueAt }) => [id, dueAt]));
    return page;
  }

  /** Forgets ended deliveries that the read model no longer returns. */
  #forgetUnlisted(found: readonly Due[]): void {
    const waiting = new Set(found.map(({ id }) => id));
    for (const id of this.#ended) if (!waiting.has(id)) this.#ended.delete(id);
  }

  /** Leaves the present deliveries out of the summary: they may not be sent now. */
  suspend(): void {
    this.#waiting.clear();
    for (const id of this.#underWay.keys()) this.#underWay.set(id, undefined);
  }

  /** Number of deliveries of the last page that wait, and of deliveries under way; their first due time (ms). */
  get summary(): { readonly count: number; readonly dueAt: number } {
    const dueAts = [...this.#waiting.values(), ...this.#underWay.values()].filter((at) => at !== undefined);
    return { count: dueAts.length, dueAt: Math.min(Number.POSITIVE_INFINITY, ...dueAts) };
  }
}
