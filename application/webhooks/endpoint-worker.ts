import type { FairLimiter } from '../core/concurrency/fair-limiter.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import type { Clock } from '../ports/clock.ts';
import { latest, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { AttemptHints, DeliveryAttempts } from './delivery-attempts.ts';
import type { FoundDelivery } from './delivery-reader.ts';
import { type DeliveryQueue, type Due, DueDeliveries, type QueueName } from './due-deliveries.ts';
import { WaitingDeliveries } from './waiting-deliveries.ts';

export interface EndpointWorkerDeps {
  readonly queue: DeliveryQueue;
  readonly attempts: DeliveryAttempts;
  readonly limiter: FairLimiter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Concurrent calls of one subscription. */
const WIDTH = 4;
/** Concurrent attempts, including delivered ones that are being recorded. */
const UNRECORDED = 16;
/** Deliveries read together, shortly before they are sent. */
const GROUP = 32;
/** Longest sleep (ms) on one clock reading. */
const LONGEST_SLEEP_MS = 60_000;
const NOTHING_DONE_MS = 25;
/**
 * After this many failed attempts in a row further ones are throttled, so that a dead endpoint with a long queue does
 * not load the server. A success ends it.
 */
const PACED_AFTER = 8;
const PACE_STEP_MS = 20;
const PACE_MS = 160;

/**
 * Sends the deliveries of one subscription: sleeps until one is due or it is woken, without polling. Its errors do not
 * affect other workers.
 */
export class EndpointWorker {
  readonly #name: QueueName;
  readonly #deps: EndpointWorkerDeps;
  /** When aborted, no further attempt starts. */
  readonly #stopping: AbortSignal;
  /** Aborts running calls. */
  readonly #calls: AbortSignal;
  readonly #width: number;
  readonly #dueDeliveries: DueDeliveries;
  readonly #underWay = new Map<string, Promise<void>>();
  #calling = 0;
  /** Resolvers waiting for a call or an attempt to end. */
  #slotWaiters: (() => void)[] = [];
  /** The present page is outdated. */
  #isStale = false;
  /** Counts changes of deliveries that may have been read already. */
  #changes = 0;
  #seen: Position | undefined;
  /** Failed attempts since the last success. */
  #failures = 0;
  readonly waiting = new WaitingDeliveries();
  /** The last page had no due delivery. */
  #caughtUp = false;
  #woken = false;
  #ring: () => void = () => undefined;

  constructor(
    name: QueueName,
    deps: EndpointWorkerDeps,
    signals: { stopping: AbortSignal; calls: AbortSignal },
  ) {
    this.#name = name;
    this.#deps = deps;
    this.#stopping = signals.stopping;
    this.#calls = signals.calls;
    this.#width = name.ordered ? 1 : WIDTH;
    this.#dueDeliveries = new DueDeliveries(name, deps.queue);
  }

  /** Since when (ms) its oldest delivery is due; undefined while its endpoint fails, and for one in order. */
  waitingSinceOf(tenantId: string): number | undefined {
    if (tenantId !== this.#name.tenantId || this.#failures > 0 || this.#name.ordered) return undefined;
    const { dueAt } = this.waiting.summary;
    return dueAt === Number.POSITIVE_INFINITY ? undefined : dueAt;
  }

  /** Signals a change at this position. */
  wake(position?: Position): void {
    this.#changes += 1;
    this.#ringFor(position);
  }

  #ringFor(position?: Position): void {
    this.#saw(position);
    this.#woken = true;
    this.#ring();
  }

  /**
   * Offers a new delivery with its event. When nothing waits before it, it is sent without querying the read model,
   * which would have to fold that far first.
   */
  offer(id: string, made: LoggedEvent): void {
    const { position } = made;
    const isNext = this.#caughtUp && this.#hasSlot && !this.#stopping.aborted;
    if (isNext && !this.#underWay.has(id)) {
      this.#saw(position);
      // Without a free slot the event is dropped, since thousands may wait; it is read again later.
      this.#start(id, this.#deps.limiter.isFree(this.#name.tenantId) ? { made } : {});
    } else this.#ringFor(position);
  }

  /**
   * Runs until `stopping`, or until a deleted subscription has no deliveries left; then waits for running attempts.
   * @param over called when the worker ends, before it could be woken in vain
   */
  async run(over: () => void): Promise<void> {
    const signal = this.#stopping;
    const stop = (): void => this.#ringFor();
    signal.addEventListener('abort', stop);
    for (let failures = 0; !signal.aborted; ) {
      try {
        const isGone = (await this.#work()) === 'gone';
        failures = 0;
        if (isGone && !this.#woken) break;
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
    over();
    signal.removeEventListener('abort', stop);
    await Promise.all(this.#underWay.values());
  }

  async #work(): Promise<'gone' | undefined> {
    const { attempts, clock } = this.#deps;
    this.#woken = false;
    const subscription = await attempts.subscription(this.#name.tenantId, this.#name.subscriptionId);
    if (subscription !== undefined && (await attempts.waits(this.#name.tenantId, subscription))) {
      this.waiting.clear();
      return this.#wait(undefined);
    }
    const now = clock.now();
    const isUnderWay = (id: string): boolean => this.#underWay.has(id);
    const waiting = await this.#dueDeliveries.next(now, this.#seen, isUnderWay, this.#underWay.size);
    this.waiting.looked(waiting, isUnderWay);
    if (subscription === undefined) return this.#drop(waiting);
    const due = waiting.filter(({ dueAt }) => dueAt <= now);
    this.#caughtUp = due.length === 0;
    if (due.length === 0) {
      const [next] = waiting;
      return this.#wait(next === undefined ? undefined : Math.min(next.dueAt - now, LONGEST_SLEEP_MS));
    }
    this.#isStale = false;
    for (let at = 0; at < due.length; at += GROUP) {
      if (!(await this.#startAll(due.slice(at, at + GROUP)))) return undefined;
    }
    return this.#freeSlot();
  }

  /** Starts attempts as slots become free. @returns false when the page must be read again */
  async #startAll(due: readonly Due[]): Promise<boolean> {
    const changes = this.#changes;
    const found = await this.#gathered(due);
    for (const { id } of due) {
      if (!this.#hasSlot) await this.#freeSlot();
      if (this.#stopping.aborted || this.#isStale) return false;
      // The attempt may wait for a slot; changes until then count.
      const take = (): FoundDelivery | undefined => {
        const own = found?.get(id);
        // Removed at once, so that its memory is short-lived.
        found?.delete(id);
        return changes === this.#changes ? own : undefined;
      };
      this.#start(id, { found: take });
    }
    return true;
  }

  /** Not for deliveries that would wait long, or were tried before. */
  async #gathered(due: readonly Due[]): Promise<Map<string, FoundDelivery> | undefined> {
    if (due.length === 1 || this.#failures > 0 || this.#name.ordered) return undefined;
    const ids = due.map(({ id }) => id);
    return this.#deps.attempts.gather(this.#name.tenantId, ids);
  }

  get #hasSlot(): boolean {
    return this.#calling < this.#width && this.#underWay.size < UNRECORDED;
  }

  async #freeSlot(): Promise<undefined> {
    while (!this.#hasSlot) {
      if (this.#underWay.size >= UNRECORDED) this.#deps.attempts.hurry();
      await new Promise<void>((resolve) => this.#slotWaiters.push(resolve));
    }
  }

  #slotFreed(): void {
    for (const resolve of this.#slotWaiters.splice(0)) resolve();
  }

  #start(id: string, known: Pick<AttemptHints, 'made' | 'found'>): void {
    this.waiting.started(id, this.#deps.clock.now());
    const done = this.#attempt(id, known).finally(() => {
      this.#underWay.delete(id);
      this.waiting.ended(id);
      this.#dueDeliveries.done(id);
      this.#slotFreed();
      this.#ringFor();
    });
    this.#underWay.set(id, done);
  }

  /** Never rejects. */
  async #attempt(id: string, known: Pick<AttemptHints, 'made' | 'found'>): Promise<void> {
    const { tenantId, subscriptionId, ordered } = this.#name;
    const { limiter, logger, sleep } = this.#deps;
    this.#calling += 1;
    const giveBack = once(await limiter.take(tenantId, `${subscriptionId} ${ordered}`));
    const called = once(() => {
      this.#calling -= 1;
      this.#slotFreed();
    });
    // While a success is recorded the next call starts, except for ordered deliveries.
    const delivered = (): void => {
      giveBack();
      this.#failures = 0;
      if (!ordered) called();
    };
    try {
      // What endpoints answer in one tick would else lead to as many calls in it.
      await timeSlices.of(tenantId, 'webhook-dispatcher').begin();
      if (!this.#stopping.aborted) await this.#make(id, { ...known, delivered, ordered });
    } catch (error) {
      if (!this.#calls.aborted) {
        logger.warn(
          { err: error, tenant_id: tenantId, delivery_id: id },
          'an attempt failed within the server',
        );
        // An ordered delivery waits for the store, but not for one that can never be sent.
        if (ordered && error instanceof StoreUnavailable) this.#isStale = true;
        await sleep(1000, this.#calls);
      }
    } finally {
      giveBack();
    }
    const beyond = this.#failures - PACED_AFTER;
    if (beyond > 0) await sleep(Math.min(beyond * PACE_STEP_MS, PACE_MS), this.#stopping);
    called();
  }

  async #make(id: string, own: AttemptHints): Promise<void> {
    const { attempts, sleep } = this.#deps;
    const made = await attempts.make(this.#name.tenantId, id, this.#calls, own);
    this.#saw(made?.position);
    if (made === undefined) {
      this.#isStale = true;
      await sleep(NOTHING_DONE_MS, this.#calls);
    } else if ('outcome' in made && made.outcome !== 'delivered') this.#failures += 1;
  }

  /** Drops deliveries of a deleted subscription. */
  async #drop(waiting: readonly Due[]): Promise<'gone' | undefined> {
    if (waiting.length === 0) return this.#underWay.size === 0 ? 'gone' : this.#wait(undefined);
    for (const { id } of waiting) {
      this.#saw(await this.#deps.attempts.drop(this.#name.tenantId, id));
      this.#dueDeliveries.done(id);
    }
    return undefined;
  }

  #saw(position: Position | undefined): void {
    this.#seen = latest(this.#seen, position);
  }

  /** Waits until woken, or at most `ms`. */
  async #wait(ms: number | undefined): Promise<undefined> {
    if (this.#woken) return undefined;
    const timer = new AbortController();
    const promise = new Promise<void>((resolve) => (this.#ring = resolve));
    await Promise.race(ms === undefined ? [promise] : [promise, this.#deps.sleep(ms, timer.signal)]);
    timer.abort('woken'); // Without a reason it would make an error with a stack.
    return undefined;
  }
}

const once = (act: () => void): (() => void) => {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
};
