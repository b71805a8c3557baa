import { mark } from './tick-marks.ts';

/** Time (ms) that a long loop may use before it lets other work run. */
const SLICE_MS = 8;

/**
 * Divides the thread among long loops: one of them runs per tick of the event loop, tenants in turn. However many
 * loops there are, other work waits for one slice.
 */
export class TimeSlices {
  /** Waiting loops by tenant, in the order in which tenants are served next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isServing = false;

  /** Starts a loop of a tenant; its first slice begins with {@link Slice.next}. @param code for {@link mark} */
  of(tenantId: string, code: string): Slice {
    return new Slice(code, () => this.#take(tenantId));
  }

  #take(tenantId: string): Promise<void> {
    return new Promise((resolve) => {
      const loops = this.#waiting.get(tenantId) ?? [];
      this.#waiting.set(tenantId, loops);
      loops.push(resolve);
      if (this.#isServing) return;
      this.#isServing = true;
      setImmediate(this.#serve);
    });
  }

  readonly #serve = (): void => {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#isServing = false;
      return;
    }
    const [tenantId, loops] = next;
    this.#waiting.delete(tenantId);
    const resolve = loops.shift();
    if (loops.length > 0) this.#waiting.set(tenantId, loops);
    // Scheduled first: the loop that runs now waits again behind the others.
    setImmediate(this.#serve);
    resolve?.();
  };
}

/** The slices of one loop. */
export class Slice {
  readonly #code: string;
  readonly #take: () => Promise<void>;
  #began = Number.NEGATIVE_INFINITY;

  constructor(code: string, take: () => Promise<void>) {
    this.#code = code;
    this.#take = take;
  }

  /** Whether the time of the slice is used up. */
  get isOver(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  /** Waits for the next slice. */
  async next(): Promise<void> {
    await this.#take();
    mark(this.#code);
    this.#began = performance.now();
  }

  /** Waits for the next slice when this one is over. To be called after each small step. */
  pause(): Promise<void> | undefined {
    return this.isOver ? this.next() : undefined;
  }
}

/** A thread has one event loop, so all its long loops share these. */
export const timeSlices = new TimeSlices();
