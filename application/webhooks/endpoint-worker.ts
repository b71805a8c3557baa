import type { FairLimiter } from '../core/concurrency/fair-limiter.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import type { Clock } from '../ports/clock.ts';
import { type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { DeliveryAttempts, OwnOfAttempt } from './delivery-attempts.ts';
import type { FoundDelivery } from './delivery-reader.ts';
import { type DeliveryQueue, type Due, DueDeliveries, type LaneName } from './due-deliveries.ts';

export interface LaneDeps {
  readonly queue: DeliveryQueue;
  readonly attempts: DeliveryAttempts;
  readonly turns: FairLimiter;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Calls of one subscription at a time. */
const WIDTH = 4;
/** Attempts at a time, with those that a receiver has taken and that are on their way to the disk. */
const UNRECORDED = 16;
/** Deliveries that are read together, shortly before they are sent. */
const GROUP = 32;
/** A timer beyond this would be a long time to trust one clock. */
const LONGEST_SLEEP_MS = 60_000;
const NOTHING_DONE_MS = 25;
/**
 * Where nobody has answered well for so many attempts, the next ones come at a pace: a dead endpoint with thousands
 * waiting must not be what the server is busy with. The first success ends it.
 */
const PACED_AFTER = 8;
const PACE_STEP_MS = 20;
const PACE_MS = 160;

/**
 * The deliveries of one subscription: waits until one is due, and until it is told of something new; never asks again
 * and again. What goes wrong here holds up nobody else.
 */
export class EndpointWorker {
  readonly #name: LaneName;
  readonly #deps: LaneDeps;
  /** No further attempt is begun. */
  readonly #stopping: AbortSignal;
  /** Gives calls that are under way up. */
  readonly #calls: AbortSignal;
  readonly #width: number;
  readonly #backlog: DueDeliveries;
  readonly #underWay = new Map<string, Promise<void>>();
  #calling = 0;
  /** Those who wait for a call, or an attempt, to end. */
  #roomFor: (() => void)[] = [];
  /** What the page says is no longer so. */
  #isStale = false;
  /** Grows when deliveries have changed that may have been read already. */
  #changes = 0;
  #seen: Position | undefined;
  /** Attempts since the last success. */
  #failures = 0;
  /** The last look has found nothing that is due. */
  #caughtUp = false;
  #woken = false;
  #ring: () => void = () => undefined;

  constructor(name: LaneName, deps: LaneDeps, signals: { stopping: AbortSignal; calls: AbortSignal }) {
    this.#name = name;
    this.#deps = deps;
    this.#stopping = signals.stopping;
    this.#calls = signals.calls;
    this.#width = name.ordered ? 1 : WIDTH;
    this.#backlog = new DueDeliveries(name, deps.queue);
  }

  /** Something has changed, at this place in the log. */
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
   * A delivery that has just been made, by this event. Where nothing waits before it, it is sent without asking the
   * read model, which would have to come that far first.
   */
  offer(id: string, made: LoggedEvent): void {
    const { position } = made;
    const isNext = this.#caughtUp && this.#hasRoom && !this.#stopping.aborted;
    if (isNext && !this.#underWay.has(id)) {
      this.#saw(position);
      // Thousands may have to wait for their turn, and bodies are long: those are read again when it comes.
      this.#start(id, this.#deps.turns.isFree(this.#name.tenantId) ? { made } : {});
    } else this.#ringFor(position);
  }

  /**
   * Until stopping, or until nothing is left of a subscription that was deleted; and until what is under way has ended.
   * @param over told, before anybody can wake the lane in vain, that it will do nothing more
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
      return this.#wait(undefined);
    }
    const now = clock.now();
    const isUnderWay = (id: string): boolean => this.#underWay.has(id);
    const waiting = await this.#backlog.next(now, this.#seen, isUnderWay, this.#underWay.size);
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
    return this.#room();
  }

  /** As there is room. @returns false when it is to be looked anew at what is due */
  async #startAll(due: readonly Due[]): Promise<boolean> {
    const changes = this.#changes;
    const found = await this.#gathered(due);
    for (const { id } of due) {
      if (!this.#hasRoom) await this.#room();
      if (this.#stopping.aborted || this.#isStale) return false;
      // It may have to wait for its turn: what is heard until then counts.
      const take = (): FoundDelivery | undefined => {
        const own = found?.get(id);
        // Else it would live until it is too old, long enough to be taken for something that stays.
        found?.delete(id);
        return changes === this.#changes ? own : undefined;
      };
      this.#start(id, { found: take });
    }
    return true;
  }

  /** Not where they would have to wait for long, nor what has been tried before. */
  async #gathered(due: readonly Due[]): Promise<Map<string, FoundDelivery> | undefined> {
    if (due.length === 1 || this.#failures > 0 || this.#name.ordered) return undefined;
    const ids = due.map(({ id }) => id);
    return this.#deps.attempts.gather(this.#name.tenantId, ids);
  }

  get #hasRoom(): boolean {
    return this.#calling < this.#width && this.#underWay.size < UNRECORDED;
  }

  async #room(): Promise<undefined> {
    while (!this.#hasRoom) {
      if (this.#underWay.size >= UNRECORDED) this.#deps.attempts.hurry();
      await new Promise<void>((resolve) => this.#roomFor.push(resolve));
    }
  }

  #madeRoom(): void {
    for (const resolve of this.#roomFor.splice(0)) resolve();
  }

  #start(id: string, known: Pick<OwnOfAttempt, 'made' | 'found'>): void {
    const done = this.#attempt(id, known).finally(() => {
      this.#underWay.delete(id);
      this.#backlog.done(id);
      this.#madeRoom();
      this.#ringFor();
    });
    this.#underWay.set(id, done);
  }

  /** Never rejects. */
  async #attempt(id: string, known: Pick<OwnOfAttempt, 'made' | 'found'>): Promise<void> {
    const { tenantId, subscriptionId, ordered } = this.#name;
    const { turns, logger, sleep } = this.#deps;
    this.#calling += 1;
    const giveBack = once(await turns.take(tenantId, `${subscriptionId} ${ordered}`));
    const called = once(() => {
      this.#calling -= 1;
      this.#madeRoom();
    });
    // While one that was delivered is written down, the next is called; but for those that go one by one.
    const delivered = (): void => {
      giveBack();
      this.#failures = 0;
      if (!ordered) called();
    };
    try {
      if (!this.#stopping.aborted) await this.#make(id, { ...known, delivered, ordered });
    } catch (error) {
      if (!this.#calls.aborted) {
        logger.warn(
          { err: error, tenant_id: tenantId, delivery_id: id },
          'an attempt failed within the server',
        );
        // In order, the next has to wait until the store is back; but nobody waits for one that can never be sent.
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

  async #make(id: string, own: OwnOfAttempt): Promise<void> {
    const { attempts, sleep } = this.#deps;
    const made = await attempts.make(this.#name.tenantId, id, this.#calls, own);
    this.#saw(made?.position);
    if (made === undefined) {
      this.#isStale = true;
      await sleep(NOTHING_DONE_MS, this.#calls);
    } else if ('outcome' in made && made.outcome !== 'delivered') this.#failures += 1;
  }

  /** Of a subscription that was deleted. */
  async #drop(waiting: readonly Due[]): Promise<'gone' | undefined> {
    if (waiting.length === 0) return this.#underWay.size === 0 ? 'gone' : this.#wait(undefined);
    for (const { id } of waiting) {
      this.#saw(await this.#deps.attempts.drop(this.#name.tenantId, id));
      this.#backlog.done(id);
    }
    return undefined;
  }

  #saw(position: Position | undefined): void {
    if (position !== undefined && (this.#seen === undefined || this.#seen < position)) this.#seen = position;
  }

  /** Until woken, or for so long (ms). */
  async #wait(ms: number | undefined): Promise<undefined> {
    if (this.#woken) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ring = resolve;
    const timer = new AbortController();
    await Promise.race(ms === undefined ? [promise] : [promise, this.#deps.sleep(ms, timer.signal)]);
    timer.abort();
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
