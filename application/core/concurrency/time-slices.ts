import { monotonic, setImmediate } from '../runtime/timers.ts';
import { mark } from './tick-marks.ts';

/** Time (ms) that a long loop may use before it yields, and that all works of one tick may use together. */
const SLICE_MS = 4;
/** Maximum of waiting works that begin in one tick. */
const PER_TICK = 32;
/** Starts reserved in a tick for requests that arrive after the tick's starts were scheduled. */
const ARRIVING = 8;
/** Minimum time (ms) charged for a work: a work that only queues a command uses time later. */
const LEAST_MS = 0.25;
/** Maximum time (ms) charged for a work: the garbage collector or another process may have delayed it. */
const MOST_MS = 2 * SLICE_MS;

/**
 * Divides the thread among works (long loops, requests): in each tick as many works begin as fit into one slice.
 * Waiting works begin in the order of the time that their tenants have used, least first (start-time fair queueing). So
 * each tenant gets the same share of the time, whether its works are few and long or many and short.
 */
export class TimeSlices {
  readonly #waiting = new Map<string, (() => void)[]>();
  /** By tenant: virtual time (ms), which grows by the time used; at least `#place` for a tenant that begins to wait. */
  readonly #usedTo = new Map<string, number>();
  /** The virtual time of the work that began last. */
  #place = 0;
  /** The work that began last, until its time is charged. */
  #serving: { readonly tenantId: string; readonly since: number } | undefined;
  #isScheduled = false;
  /** When the first work of this tick began; undefined before that. */
  #began: number | undefined;

  /** The slices of a loop or request of a tenant. @param code for {@link mark} */
  of(tenantId: string, code: string): Slice {
    return new Slice(
      code,
      () => this.#take(tenantId),
      () => this.#isFree(),
    );
  }

  /** Whether a work may begin at once: none waits, and this tick has some time left. */
  #isFree(): boolean {
    return this.#waiting.size === 0 && this.#hasTime();
  }

  #take(tenantId: string): Promise<void> {
    return new Promise((resolve) => {
      const works = this.#waiting.get(tenantId) ?? [];
      this.#waiting.set(tenantId, works);
      works.push(resolve);
      if (works.length === 1) {
        this.#usedTo.set(tenantId, Math.max(this.#usedTo.get(tenantId) ?? 0, this.#place));
      }
      if (!this.#isScheduled) this.#schedule();
    });
  }

  /** Whether this tick has time left after the works that began in it. */
  #hasTime(): boolean {
    const now = monotonic();
    if (this.#began === undefined) {
      this.#began = now;
      setImmediate(() => {
        this.#began = undefined;
      });
    }
    return now - this.#began < SLICE_MS;
  }

  /** Node settles promises between two immediates, so the time of a work is known before the next work begins. */
  #schedule(): void {
    this.#isScheduled = true;
    let works = ARRIVING;
    for (const { length } of this.#waiting.values()) works += length;
    for (let nth = Math.min(works, PER_TICK); nth > 0; nth -= 1) {
      setImmediate(() => {
        this.#charge();
        if (this.#hasTime()) this.#next()?.();
      });
    }
    setImmediate(() => {
      this.#charge();
      if (this.#waiting.size > 0) this.#schedule();
      else {
        this.#isScheduled = false;
        this.#usedTo.clear();
        this.#place = 0;
      }
    });
  }

  #charge(): void {
    if (this.#serving === undefined) return;
    const { tenantId, since } = this.#serving;
    this.#serving = undefined;
    const ms = Math.min(MOST_MS, Math.max(LEAST_MS, monotonic() - since));
    this.#usedTo.set(tenantId, (this.#usedTo.get(tenantId) ?? 0) + ms);
  }

  /** The first work of the tenant that has used least time; of equal tenants, the one that has waited longest. */
  #next(): (() => void) | undefined {
    let least: string | undefined;
    let place = Number.POSITIVE_INFINITY;
    for (const tenantId of this.#waiting.keys()) {
      const used = this.#usedTo.get(tenantId) ?? 0;
      if (used < place) [least, place] = [tenantId, used];
    }
    if (least === undefined) return undefined;
    const works = this.#waiting.get(least) ?? [];
    const resolve = works.shift();
    // Moves the tenant behind tenants that have used the same time.
    this.#waiting.delete(least);
    if (works.length > 0) this.#waiting.set(least, works);
    this.#place = place;
    this.#serving = { tenantId: least, since: monotonic() };
    return resolve;
  }
}

/** The slices of one loop or request. */
export class Slice {
  readonly #code: string;
  readonly #take: () => Promise<void>;
  readonly #isFree: () => boolean;
  #began = Number.NEGATIVE_INFINITY;

  constructor(code: string, take: () => Promise<void>, isFree: () => boolean) {
    this.#code = code;
    this.#take = take;
    this.#isFree = isFree;
  }

  /** Whether the time of the slice is used up. */
  get isOver(): boolean {
    return monotonic() - this.#began > SLICE_MS;
  }

  /** Begins the first slice. Returns undefined, without a wait, if this tick has time and no other work waits. */
  begin(): Promise<void> | undefined {
    if (!this.#isFree()) return this.next();
    mark(this.#code);
    this.#began = monotonic();
    return undefined;
  }

  /** Waits for the next slice. */
  async next(): Promise<void> {
    await this.#take();
    mark(this.#code);
    this.#began = monotonic();
  }

  /**
   * Waits for the next slice when this one is over, otherwise returns undefined. To be called after each small step.
   */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.next() : undefined;
  }
}

/** A thread has one event loop, so all its long loops share this object. */
export const timeSlices = new TimeSlices();
