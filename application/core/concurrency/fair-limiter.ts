/**
 * Who may call out next. So many calls at once in all and for each tenant; those that wait are taken in turn, tenant by
 * tenant, and within a tenant subscription by subscription.
 */
export interface SlotLimits {
  readonly total: number;
  readonly perTenant: number;
  /** A tenant has so many even when the others have taken all: whose endpoints hang holds up no other tenant. */
  readonly reserved: number;
}

type Grant = () => void;

/** The lanes of one tenant that wait, in turn; each lane's own waiters in order. */
interface Waiting {
  readonly lanes: Map<string, Grant[]>;
}

export class FairLimiter {
  readonly #limits: SlotLimits;
  #taken = 0;
  readonly #takenOf = new Map<string, number>();
  /** In turn: who was served goes to the end. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Resolves when it is the lane's turn; the caller gives the turn back by calling what it gets, once. */
  take(tenantId: string, lane: string): Promise<() => void> {
    if (this.isFree(tenantId)) {
      this.#grant(tenantId);
      return Promise.resolve(() => this.#giveBack(tenantId));
    }
    const { promise, resolve } = Promise.withResolvers<() => void>();
    const waiting = this.#waiting.get(tenantId) ?? { lanes: new Map() };
    this.#waiting.set(tenantId, waiting);
    const grants = waiting.lanes.get(lane) ?? [];
    waiting.lanes.set(lane, grants);
    grants.push(() => resolve(() => this.#giveBack(tenantId)));
    this.#serve();
    return promise;
  }

  /** A turn is taken at once: there is room in all and for this tenant. Others that wait then have all that they may. */
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

  #next(most: number): readonly [string, Waiting] | undefined {
    for (const entry of this.#waiting) if ((this.#takenOf.get(entry[0]) ?? 0) < most) return entry;
    return undefined;
  }

  #serve(): void {
    while (this.#waiting.size > 0) {
      const { total, perTenant, reserved } = this.#limits;
      const most = this.#taken < total ? perTenant : Math.min(reserved, perTenant);
      const next = this.#next(most);
      if (next === undefined) return;
      const [tenantId, waiting] = next;
      const grant = nextOf(waiting.lanes);
      this.#waiting.delete(tenantId);
      if (waiting.lanes.size > 0) this.#waiting.set(tenantId, waiting);
      if (grant === undefined) continue;
      this.#grant(tenantId);
      grant();
    }
  }
}

const nextOf = (lanes: Map<string, Grant[]>): Grant | undefined => {
  const [first] = lanes;
  if (first === undefined) return undefined;
  const [lane, grants] = first;
  const grant = grants.shift();
  lanes.delete(lane);
  if (grants.length > 0) lanes.set(lane, grants);
  return grant;
};
