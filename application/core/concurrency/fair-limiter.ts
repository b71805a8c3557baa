export interface SlotLimits {
  readonly total: number;
  readonly perTenant: number;
  /** Slots that a tenant gets even when the total is used up, so that slow calls of one tenant do not delay another. */
  readonly reserved: number;
}

type Grant = () => void;

/** The waiting queues of one tenant, in the order in which they are served next. */
type Queues = Map<string, Grant[]>;

/**
 * Limits concurrent calls in total (reserved slots may exceed the total) and per tenant. Waiting calls are served
 * round-robin over tenants, and within a tenant over its queues.
 */
export class FairLimiter {
  readonly #limits: SlotLimits;
  #taken = 0;
  readonly #takenOf = new Map<string, number>();
  /** In the order in which tenants are served next; a served tenant moves to the end. */
  readonly #waiting = new Map<string, Queues>();

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Resolves when the queue gets a slot, with a function that the caller calls once to give the slot back. */
  take(tenantId: string, queue: string): Promise<() => void> {
    const free = this.tryTake(tenantId);
    if (free !== undefined) return Promise.resolve(free);
    const { promise, resolve } = Promise.withResolvers<() => void>();
    const queues: Queues = this.#waiting.get(tenantId) ?? new Map();
    this.#waiting.set(tenantId, queues);
    const grants = queues.get(queue) ?? [];
    queues.set(queue, grants);
    grants.push(() => resolve(() => this.#giveBack(tenantId)));
    this.#serve();
    return promise;
  }

  /** Like {@link take}, without waiting: undefined when {@link isFree} is false. */
  tryTake(tenantId: string): (() => void) | undefined {
    if (!this.isFree(tenantId)) return undefined;
    this.#grant(tenantId);
    return () => this.#giveBack(tenantId);
  }

  /** Whether the tenant may take a slot of the total at once. False while earlier calls of the tenant wait. */
  isFree(tenantId: string): boolean {
    const { total, perTenant } = this.#limits;
    const isNext = !this.#waiting.has(tenantId) && this.#taken < total;
    return isNext && (this.#takenOf.get(tenantId) ?? 0) < perTenant;
  }

  #grant(tenantId: string): void {
    this.#taken += 1;
    this.#takenOf.set(tenantId, (this.#takenOf.get(tenantId) ?? 0) + 1);
  }

  #giveBack(tenantId: string): void {
    this.#taken -= 1;
    const left = (this.#takenOf.get(tenantId) ?? 1) - 1;
    if (left === 0) this.#takenOf.delete(tenantId);
    else this.#takenOf.set(tenantId, left);
    this.#serve();
  }

  #next(most: number): readonly [string, Queues] | undefined {
    for (const entry of this.#waiting) if ((this.#takenOf.get(entry[0]) ?? 0) < most) return entry;
    return undefined;
  }

  #serve(): void {
    while (this.#waiting.size > 0) {
      const { total, perTenant, reserved } = this.#limits;
      const most = this.#taken < total ? perTenant : Math.min(reserved, perTenant);
      const next = this.#next(most);
      if (next === undefined) return;
      const [tenantId, queues] = next;
      const grant = nextOf(queues);
      this.#waiting.delete(tenantId);
      if (queues.size > 0) this.#waiting.set(tenantId, queues);
      if (grant === undefined) continue;
      this.#grant(tenantId);
      grant();
    }
  }
}

const nextOf = (queues: Queues): Grant | undefined => {
  const [first] = queues;
  if (first === undefined) return undefined;
  const [queue, grants] = first;
  const grant = grants.shift();
  queues.delete(queue);
  if (grants.length > 0) queues.set(queue, grants);
  return grant;
};
