import { monotonic, setImmediate } from '../runtime/timers.ts';
import { mark } from './tick-marks.ts';

/** Time (ms) that a long loop may use before it lets other work run, and that works of one tick may use together. */
const SLICE_MS = 4;
/** Works that one tick may begin. */
const PER_TICK = 32;

/**
 * Divides the thread among long loops and requests: those that wait begin tenant by tenant, in each tick of the event
 * loop as many as fit in one slice. However many there are, other work waits for one slice.
 */
export class TimeSlices {
  /** Waiting works by tenant, in the order in which tenants are served next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  /** Calls of {@link #serve} that the event loop has still to make. */
  #scheduled = 0;
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
      this.#schedule();
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
    if (this.#scheduled > 0) return;
    let works = 0;
    for (const { length } of this.#waiting.values()) works += length;
    this.#scheduled = Math.min(works, PER_TICK);
    const serve = (): void => {
      this.#scheduled -= 1;
      if (this.#hasTime()) this.#next()?.();
      if (this.#scheduled === 0 && this.#waiting.size > 0) this.#schedule();
    };
    for (let nth = 0; nth < this.#scheduled; nth += 1) setImmediate(serve);
  }

  #next(): (() => void) | undefined {
    const [next] = this.#waiting;
    if (next === undefined) return undefined;
    const [tenantId, works] = next;
    this.#waiting.delete(tenantId);
    const resolve = works.shift();
    if (works.length > 0) this.#waiting.set(tenantId, works);
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
