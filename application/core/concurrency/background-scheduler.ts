import { clearTimeout, monotonic, setTimeout, type Timer } from '../runtime/timers.ts';
import { timeSlices } from './time-slices.ts';

/** Time (ms) of one quantum. */
export const QUANTUM_MS = 20;
/** Quanta granted at the same time; most of them wait for a store. */
const AT_ONCE = 16;
/** While a read waits longer than `READ_WAIT_MS` for its read model, one quantum is granted per `HELD_BACK_MS`. */
const READ_WAIT_MS = 100;
const HELD_BACK_MS = 50;
/** Maximum time (ms) charged to a tenant for quanta that lasted too long. */
const MOST_DEBT_MS = 10 * QUANTUM_MS;

interface Flow {
  /** Time (ms) that the tenant may still spend in this round. */
  credit: number;
  /** Quanta that were granted and not ended. */
  open: number;
  readonly waiting: (() => void)[];
}

/**
 * A time in which a tenant's work runs. Work that lasts longer continues, but its slot is given to other work, and the
 * tenant is charged for the time.
 */
export interface Quantum {
  /** Whether the time of the quantum is used up. */
  readonly isOver: boolean;
  /** Waits for the tenant's next quantum if this one is over. For loops in a handler. */
  next(): Promise<void>;
  /** Waits until a tick has time for the tenant's work; undefined if this tick has time and no other work waits. */
  begin(): Promise<void> | undefined;
  end(): void;
}

export interface SchedulerOptions {
  readonly atOnce?: number;
  /** How long (ms) the oldest waiting read has waited for its read model. */
  readonly longestRead?: () => number;
  /** A tenant's share of the quanta, relative to others; at least 1. */
  readonly weightOf?: (tenantId: string) => number;
}

/**
 * Schedules the background work of tenants: deficit round robin over time spent, weighted by plan (decisions 37 and
 * 68). A slot becomes free after at most one quantum.
 */
export class BackgroundScheduler {
  readonly #longestRead: () => number;
  readonly #weightOf: (tenantId: string) => number;
  #grantedAt = Number.NEGATIVE_INFINITY;
  #heldBack: Timer | undefined;
  #free: number;
  readonly #flows = new Map<string, Flow>();
  /** Tenants that wait, in the order in which they are served. */
  readonly #queue = new Map<string, Flow>();

  constructor({ atOnce = AT_ONCE, longestRead = () => 0, weightOf = () => 1 }: SchedulerOptions = {}) {
    this.#weightOf = weightOf;
    this.#free = atOnce;
    this.#longestRead = longestRead;
  }

  /** Waits for the tenant's next quantum, which the caller ends. @param code labels its work in metrics of ticks */
  async take(tenantId: string, code: string): Promise<Quantum> {
    await this.#granted(tenantId);
    return this.#quantumOf(tenantId, code);
  }

  #quantumOf(tenantId: string, code: string): Quantum {
    let since = monotonic();
    let slot = this.#slot();
    const charge = (): void => {
      this.#charge(tenantId, monotonic() - since);
      slot();
    };
    const isOver = (): boolean => monotonic() - since >= QUANTUM_MS;
    return {
      get isOver() {
        return isOver();
      },
      next: async () => {
        if (!isOver()) return;
        const next = this.#granted(tenantId);
        charge();
        await next;
        since = monotonic();
        slot = this.#slot();
      },
      begin: () => timeSlices.of(tenantId, code).begin(),
      end: charge,
    };
  }

  /** Takes a slot until `QUANTUM_MS` have passed or the returned function is called. */
  #slot(): () => void {
    const giveBack = (): void => {
      if (timer === undefined) return;
      clearTimeout(timer);
      timer = undefined;
      this.#free += 1;
      this.#serve();
    };
    let timer: Timer | undefined = setTimeout(giveBack, QUANTUM_MS);
    return giveBack;
  }

  #granted(tenantId: string): Promise<void> {
    const flow = this.#flows.get(tenantId) ?? { credit: QUANTUM_MS, open: 0, waiting: [] };
    this.#flows.set(tenantId, flow);
    return new Promise((resolve) => {
      flow.waiting.push(resolve);
      if (!this.#queue.has(tenantId)) this.#queue.set(tenantId, flow);
      this.#serve();
    });
  }

  /** Credits the unused time of a quantum to the tenant, or charges the time beyond the quantum. */
  #charge(tenantId: string, spentMs: number): void {
    const flow = this.#flows.get(tenantId);
    if (flow === undefined) return;
    flow.open -= 1;
    const most = QUANTUM_MS * this.#weightOf(tenantId);
    flow.credit = Math.max(-MOST_DEBT_MS, Math.min(most, flow.credit + QUANTUM_MS - spentMs));
    if (flow.open === 0 && flow.waiting.length === 0) this.#flows.delete(tenantId);
  }

  #serve(): void {
    while (this.#free > 0 && this.#queue.size > 0 && !this.#holdsBack()) {
      const next = this.#next();
      if (next === undefined) return;
      const [tenantId, flow] = next;
      this.#grantedAt = monotonic();
      this.#free -= 1;
      flow.open += 1;
      flow.credit -= QUANTUM_MS;
      const grant = flow.waiting.shift();
      if (flow.waiting.length === 0) this.#queue.delete(tenantId);
      grant?.();
    }
  }

  /** Whether the next quantum must wait, at most `HELD_BACK_MS`, so that read models fold events of earlier quanta. */
  #holdsBack(): boolean {
    if (this.#heldBack !== undefined) return true;
    const left = this.#grantedAt + HELD_BACK_MS - monotonic();
    if (left <= 0 || this.#longestRead() <= READ_WAIT_MS) return false;
    this.#heldBack = setTimeout(() => {
      this.#heldBack = undefined;
      this.#serve();
    }, left);
    return true;
  }

  /** The first waiting tenant that has credit. Tenants before it without credit get some and move to the end. */
  #next(): readonly [string, Flow] | undefined {
    // The loop also visits tenants that it moved to the end, so it ends when the credit of one is positive.
    for (const [tenantId, flow] of this.#queue) {
      if (flow.credit > 0) return [tenantId, flow];
      flow.credit += QUANTUM_MS * this.#weightOf(tenantId);
      this.#queue.delete(tenantId);
      this.#queue.set(tenantId, flow);
    }
    return undefined;
  }
}

/** Works started together. */
const GROUP = 32;

/**
 * Runs works in groups, in order. Before a further group, waits for the next quantum if the present one is over.
 * @param quantum undefined for work that the scheduler does not control
 * @throws the first error of a group, after all works of the group have settled
 */
export const runInGroups = async (
  works: readonly (() => Promise<unknown>)[],
  quantum?: Quantum,
): Promise<void> => {
  for (let from = 0; from < works.length; from += GROUP) {
    if (from > 0) await quantum?.next();
    const group: Promise<readonly PromiseSettledResult<unknown>[]>[] = [];
    for (const work of works.slice(from, from + GROUP)) {
      const wait = quantum?.begin();
      if (wait !== undefined) await wait;
      // A rejection during the next `await wait` would otherwise be unhandled and end the process.
      group.push(Promise.allSettled([work()]));
    }
    for (const each of (await Promise.all(group)).flat()) if (each.status === 'rejected') throw each.reason;
  }
};
