import type { Clock } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Attempts } from './attempts.ts';
import type { Turns } from './turns.ts';

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
  /** The first that are due, or will be; as of a place in the log or later. */
  pending(lane: LaneName, limit: number, seen: Position | undefined): Promise<readonly Due[]>;
}

export interface LaneDeps {
  readonly queue: DeliveryQueue;
  readonly attempts: Attempts;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Attempts of one subscription at a time. */
const WIDTH = 4;
const PAGE = 32;
/** A timer beyond this would be a long time to trust one clock. */
const LONGEST_SLEEP_MS = 60_000;
const NOTHING_DONE_MS = 25;

/**
 * The deliveries of one subscription: waits until one is due, and until it is told of something new; never asks again
 * and again. What goes wrong here holds up nobody else.
 */
export class Lane {
  readonly #name: LaneName;
  readonly #deps: LaneDeps;
  /** No further attempt is begun. */
  readonly #stopping: AbortSignal;
  /** Gives calls that are under way up. */
  readonly #calls: AbortSignal;
  readonly #width: number;
  readonly #underWay = new Map<string, Promise<void>>();
  #seen: Position | undefined;
  #woken = false;
  #ring: () => void = () => undefined;

  constructor(name: LaneName, deps: LaneDeps, signals: { stopping: AbortSignal; calls: AbortSignal }) {
    this.#name = name;
    this.#deps = deps;
    this.#stopping = signals.stopping;
    this.#calls = signals.calls;
    this.#width = name.ordered ? 1 : WIDTH;
  }

  /** Something has changed, at this place in the log. */
  wake(position?: Position): void {
    this.#saw(position);
    this.#woken = true;
    this.#ring();
  }

  /** Until stopping, and until what is under way has ended. */
  async run(): Promise<void> {
    const signal = this.#stopping;
    const stop = (): void => this.wake();
    signal.addEventListener('abort', stop);
    for (let failures = 0; !signal.aborted; ) {
      try {
        await this.#work();
        failures = 0;
      } catch (error) {
        failures += 1;
        const { tenantId, subscriptionId } = this.#name;
        this.#deps.logger.warn(
          { err: error, tenant_id: tenantId, subscription_id: subscriptionId, failures },
          'the deliveries of a webhook could not be looked at; they are tried again',
        );
        await this.#deps.sleep(Math.min(100 * 2 ** failures, 10_000), signal);
      }
    }
    signal.removeEventListener('abort', stop);
    await Promise.all(this.#underWay.values());
  }

  async #work(): Promise<void> {
    const { queue, attempts, clock } = this.#deps;
    this.#woken = false;
    const subscription = await attempts.subscription(this.#name.tenantId, this.#name.subscriptionId);
    if (subscription?.state === 'paused') return this.#wait(undefined);
    const found = await queue.pending(this.#name, PAGE + this.#underWay.size, this.#seen);
    const waiting = found.filter(({ id }) => !this.#underWay.has(id));
    if (subscription === undefined) return this.#drop(waiting);
    const now = clock.now();
    const due = waiting.filter(({ dueAt }) => dueAt <= now);
    if (due.length === 0) {
      const [next] = waiting;
      return this.#wait(next === undefined ? undefined : Math.min(next.dueAt - now, LONGEST_SLEEP_MS));
    }
    for (const { id } of due) {
      while (this.#underWay.size >= this.#width) await Promise.race(this.#underWay.values());
      if (this.#stopping.aborted) return;
      this.#start(id);
    }
    if (this.#underWay.size >= this.#width) await Promise.race(this.#underWay.values());
  }

  #start(id: string): void {
    const { tenantId, subscriptionId } = this.#name;
    const done = this.#attempt(tenantId, subscriptionId, id).finally(() => {
      this.#underWay.delete(id);
      this.wake();
    });
    this.#underWay.set(id, done);
  }

  /** Never rejects. */
  async #attempt(tenantId: string, subscriptionId: string, id: string): Promise<void> {
    const { turns, attempts, logger, sleep } = this.#deps;
    const giveBack = await turns.take(tenantId, `${subscriptionId} ${this.#name.ordered}`);
    try {
      if (this.#stopping.aborted) return;
      const position = await attempts.make(tenantId, id, this.#calls);
      this.#saw(position);
      if (position === undefined) await sleep(NOTHING_DONE_MS, this.#calls);
    } catch (error) {
      if (this.#calls.aborted) return;
      logger.warn(
        { err: error, tenant_id: tenantId, delivery_id: id },
        'an attempt failed within the server',
      );
      await sleep(1000, this.#calls);
    } finally {
      giveBack();
    }
  }

  /** Of a subscription that was deleted. */
  async #drop(waiting: readonly Due[]): Promise<void> {
    if (waiting.length === 0) return this.#wait(undefined);
    for (const { id } of waiting) this.#saw(await this.#deps.attempts.drop(this.#name.tenantId, id));
  }

  #saw(position: Position | undefined): void {
    if (position !== undefined && (this.#seen === undefined || this.#seen < position)) this.#seen = position;
  }

  /** Until woken, or for so long (ms). */
  async #wait(ms: number | undefined): Promise<void> {
    if (this.#woken) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ring = resolve;
    const timer = new AbortController();
    await Promise.race(ms === undefined ? [promise] : [promise, this.#deps.sleep(ms, timer.signal)]);
    timer.abort();
  }
}
