import type { FairLimiter } from '../core/concurrency/fair-limiter.ts';
import { isUnavailable } from '../core/concurrency/retry-policy.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import { latest, type Position } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { AttemptHints, DeliveryAttempts } from './delivery-attempts.ts';
import type { DeliveryBatches, FoundDelivery, KnownDelivery } from './delivery-batches.ts';
import { type Due, EndpointQueue, type PendingDeliveries, type QueueName } from './endpoint-queue.ts';

export interface EndpointWorkerDeps {
  readonly pending: PendingDeliveries;
  readonly deliveries: Pick<DeliveryBatches, 'readAhead' | 'flushNow'>;
  readonly attempts: DeliveryAttempts;
  readonly limiter: FairLimiter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Limit of concurrent calls of an unordered queue; an ordered queue makes one call at a time. */
const MAX_CALLS = 4;
/** Limit of concurrent attempts, including successful attempts that are still being recorded. */
const MAX_UNRECORDED = 16;
/** Number of deliveries that are read together, shortly before they are sent. */
const GROUP = 32;
/** Longest sleep (ms) before the clock is read again. */
const LONGEST_SLEEP_MS = 60_000;
/** Pause (ms) after an attempt has found that its delivery must wait. */
const MUST_WAIT_MS = 25;
/**
 * When more than this many attempts in a row have failed, attempts are throttled, so that a dead endpoint with a long
 * queue does not load the server. A success ends the throttling.
 */
const THROTTLED_AFTER = 8;
const THROTTLE_STEP_MS = 20;
const MAX_THROTTLE_MS = 160;

/**
 * Sends the deliveries of one queue of a subscription: sleeps until a delivery is due or the worker is woken, without
 * polling. An error in one worker does not affect other workers.
 */
export class EndpointWorker extends WithDeps<
  EndpointWorkerDeps & {
    readonly name: QueueName;
    /** When aborted, no further attempt starts. */
    readonly stopping: AbortSignal;
    /** Aborts running calls. */
    readonly calls: AbortSignal;
  }
> {
  readonly queue = new EndpointQueue(this.deps);
  readonly #name = this.deps.name;
  readonly #maxCalls = this.#name.ordered ? 1 : MAX_CALLS;
  #calling = 0;
  /** Resolvers of promises that wait until a call or an attempt ends. */
  #slotWaiters: (() => void)[] = [];
  /** Whether the due deliveries must be read again. */
  #isStale = false;
  /** Counts wakes: deliveries that were read ahead before the last wake may be outdated. */
  #changes = 0;
  #seen: Position | undefined;
  /** Failed attempts since the last success. */
  #failures = 0;
  /** Whether the last page had no due delivery. */
  #caughtUp = false;
  #isWoken = false;
  #wakeUp: () => void = () => undefined;

  /**
   * Due time (ms) of the oldest delivery; undefined if no delivery waits, for another tenant, for an ordered queue, and
   * while the endpoint fails.
   */
  waitingSinceOf(tenantId: string): number | undefined {
    if (tenantId !== this.#name.tenantId || this.#failures > 0 || this.#name.ordered) return undefined;
    const { dueAt } = this.queue.summary;
    return dueAt === Number.POSITIVE_INFINITY ? undefined : dueAt;
  }

  /** Wakes the worker after a change of its deliveries, subscription or tenant. @param position of the change */
  wake(position?: Position): void {
    this.#changes += 1;
    this.#signal(position);
  }

  #signal(position?: Position): void {
    this.#advanceSeen(position);
    this.#isWoken = true;
    this.#wakeUp();
  }

  /**
   * Offers a new delivery with its event. If no other delivery is due and a slot is free, sends the delivery at once,
   * without waiting until the read model has folded the event.
   */
  offer(id: string, scheduledEvent: LoggedEvent): void {
    const { position } = scheduledEvent;
    const isNext = this.#caughtUp && this.#hasSlot && !this.deps.stopping.aborted;
    if (isNext && !this.queue.isUnderWay(id)) {
      this.#advanceSeen(position);
      // Without a free slot of the limiter, the event is not kept in memory (thousands may wait) and is read again.
      this.#start(id, this.deps.limiter.isFree(this.#name.tenantId) ? { scheduledEvent } : {});
    } else this.#signal(position);
  }

  /**
   * Runs until `stopping`, or until a deleted subscription has no deliveries left; then waits for running attempts.
   * @param onEnd called when the worker accepts no further delivery, before it waits for running attempts
   */
  async run(onEnd: () => void): Promise<void> {
    const signal = this.deps.stopping;
    const stop = (): void => this.#signal();
    signal.addEventListener('abort', stop);
    for (let failures = 0; !signal.aborted; ) {
      try {
        const isGone = (await this.#work()) === 'gone';
        failures = 0;
        if (isGone && !this.#isWoken) break;
      } catch (error) {
        failures += 1;
        const { tenantId, subscriptionId } = this.#name;
        this.deps.logger.warn(
          { err: error, tenant_id: tenantId, subscription_id: subscriptionId, failures },
          'the deliveries of a webhook could not be processed; retrying',
        );
        await this.deps.sleep(Math.min(100 * 2 ** failures, 10_000), signal);
      }
    }
    onEnd();
    signal.removeEventListener('abort', stop);
    while (this.queue.underWay > 0) await this.#slotChange();
  }

  async #work(): Promise<'gone' | undefined> {
    const { attempts, clock } = this.deps;
    this.#isWoken = false;
    const subscription = await attempts.activeSubscription(this.#name.tenantId, this.#name.subscriptionId);
    if (subscription === 'waits') {
      this.queue.suspend();
      return this.#wait(undefined);
    }
    const now = clock.now();
    const waiting = await this.queue.next(now, this.#seen);
    if (subscription === 'deleted') return this.#drop(waiting);
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
    return this.#waitForSlot();
  }

  /** Starts attempts as slots become free. @returns false when stopped, or when the page must be read again */
  async #startAll(due: readonly Due[]): Promise<boolean> {
    const changes = this.#changes;
    const ids = due.map(({ id }) => id);
    // Reads ahead only for an unordered queue without failures: other deliveries may wait long and become outdated.
    const isAhead = due.length > 1 && this.#failures === 0 && !this.#name.ordered;
    const found = isAhead ? await this.deps.deliveries.readAhead(this.#name.tenantId, ids) : undefined;
    for (const id of ids) {
      if (!this.#hasSlot) await this.#waitForSlot();
      if (this.deps.stopping.aborted || this.#isStale) return false;
      // The attempt may wait for a slot: a change until then makes the data read ahead outdated.
      const take = (): FoundDelivery | undefined => {
        const own = found?.get(id);
        // Removes the delivery from the map at once, so that its memory is freed early.
        found?.delete(id);
        return changes === this.#changes ? own : undefined;
      };
      this.#start(id, { found: take });
    }
    return true;
  }

  get #hasSlot(): boolean {
    return this.#calling < this.#maxCalls && this.queue.underWay < MAX_UNRECORDED;
  }

  async #waitForSlot(): Promise<undefined> {
    while (!this.#hasSlot) {
      if (this.queue.underWay >= MAX_UNRECORDED) this.deps.deliveries.flushNow();
      await this.#slotChange();
    }
  }

  #slotChange(): Promise<void> {
    return new Promise((resolve) => this.#slotWaiters.push(resolve));
  }

  #slotFreed(): void {
    for (const resolve of this.#slotWaiters.splice(0)) resolve();
  }

  #start(id: string, known: KnownDelivery): void {
    this.queue.start(id, this.deps.clock.now());
    void this.#attempt(id, known).finally(() => {
      this.queue.end(id);
      this.#slotFreed();
      this.#signal();
    });
  }

  /** Never rejects. */
  async #attempt(id: string, known: KnownDelivery): Promise<void> {
    const { tenantId, subscriptionId, ordered } = this.#name;
    const { limiter, logger, sleep } = this.deps;
    this.#calling += 1;
    const giveBack = once(await limiter.take(tenantId, `${subscriptionId} ${ordered}`));
    const callEnded = once(() => {
      this.#calling -= 1;
      this.#slotFreed();
    });
    // While a success is being recorded, the next call starts, except for ordered deliveries.
    const onDelivered = (): void => {
      giveBack();
      this.#failures = 0;
      if (!ordered) callEnded();
    };
    try {
      // Spreads new calls over ticks, since many endpoints may answer in the same tick.
      await timeSlices.of(tenantId, 'webhook-dispatcher').begin();
      if (!this.deps.stopping.aborted) await this.#send(id, { ...known, onDelivered, ordered });
    } catch (error) {
      if (!this.deps.calls.aborted) {
        logger.warn(
          { err: error, tenant_id: tenantId, delivery_id: id },
          'an attempt failed because of an error in the server',
        );
        // An ordered queue repeats a delivery while the store is unavailable; after other errors it starts the next.
        if (ordered && isUnavailable(error)) this.#isStale = true;
        await sleep(1000, this.deps.calls);
      }
    } finally {
      giveBack();
    }
    const beyond = this.#failures - THROTTLED_AFTER;
    if (beyond > 0) await sleep(Math.min(beyond * THROTTLE_STEP_MS, MAX_THROTTLE_MS), this.deps.stopping);
    callEnded();
  }

  async #send(id: string, hints: AttemptHints): Promise<void> {
    const { attempts, sleep } = this.deps;
    const result = await attempts.attempt(this.#name.tenantId, id, this.deps.calls, hints);
    this.#advanceSeen(result?.position);
    if (result === undefined) {
      this.#isStale = true;
      await sleep(MUST_WAIT_MS, this.deps.calls);
    } else if ('outcome' in result && result.outcome !== 'delivered') this.#failures += 1;
  }

  /** Drops deliveries of a deleted subscription. */
  async #drop(waiting: readonly Due[]): Promise<'gone' | undefined> {
    if (waiting.length === 0) return this.queue.underWay === 0 ? 'gone' : this.#wait(undefined);
    for (const { id } of waiting) {
      this.#advanceSeen(await this.deps.attempts.drop(this.#name.tenantId, id));
      this.queue.end(id);
    }
    return undefined;
  }

  #advanceSeen(position: Position | undefined): void {
    this.#seen = latest(this.#seen, position);
  }

  /** Waits until woken, or at most `ms`. */
  async #wait(ms: number | undefined): Promise<undefined> {
    if (this.#isWoken) return undefined;
    const timer = new AbortController();
    const promise = new Promise<void>((resolve) => (this.#wakeUp = resolve));
    await Promise.race(ms === undefined ? [promise] : [promise, this.deps.sleep(ms, timer.signal)]);
    timer.abort('woken'); // Without a reason, `abort` would create an error with a stack.
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
