import { monotonic, setImmediate } from '../runtime/timers.ts';
import { mark } from './tick-marks.ts';

/** Time (ms) that a long loop may use before it lets other work run, and that works of one tick may use together. */
const SLICE_MS = 4;
/** Maximum of works that begin in one tick. */
const PER_TICK = 32;
/** Extra starts per tick for requests that arrive after scheduling. */
const ARRIVING = 8;
/** Minimum time (ms) charged for a work: one that only queues a command takes its time later. */
const LEAST_MS = 0.25;
/** Maximum time (ms) charged for a work: the garbage collector or another process may have held it up. */
const MOST_MS = 2 * SLICE_MS;

/**
 * Divides the thread among long loops and requests: in each tick of the event loop as many begin as fit in one slice.
 * Those that wait begin in the order of the time that their tenants have used (start-time fair queueing): a tenant that
 * uses little is served next, with as many works as take the time of one work of a busy tenant.
 */
export class TimeSlices {
  readonly #waiting = new Map<string, (() => void)[]>();
  /** By tenant: time (ms) used on a common scale, on which a tenant that was away begins at the present place. */
  readonly #usedTo = new Map<string, number>();
  /** The place on this scale of the work that began last. */
  #place = 0;
  /** The work that began last, until its time is charged. */
  #serving: { readonly tenantId: string; readonly since: number } | undefined;
  #isScheduled = false;
  /** When the first work of this tick began; undefined before it. */
  #began: number | undefined;

  /** Starts a loop of a tenant; its first slice begins with {@link Slice.next}. @param code for {@link mark} */
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

  /** Whether the works that began in this tick have left some of its time. */
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

  /** Promises run between two immediates, so each work has used its time before the next begins. */
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

  /** The first work of the tenant that has used least; the one that waits longest of equal ones. */
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
    // Moves behind tenants that have used the same.
    this.#waiting.delete(least);
    if (works.length > 0) this.#waiting.set(least, works);
    this.#place = place;
    this.#serving = { tenantId: least, since: monotonic() };
    return resolve;
  }
}

/** The slices of one loop. */
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

  /** Begins the first slice: at once, without a promise, while the present tick has time. For short works. */
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

  /** Waits for the next slice when this one is over. To be called after each small step. */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.next() : undefined;
  }
}

/** A thread has one event loop, so all its long loops share these. */
export const timeSlices = new TimeSlices();
