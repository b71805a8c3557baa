import type { Position } from '../../../application/ports/event-store.ts';
import { type Lease, LONGEST_LEASE_MS } from '../../../application/ports/read-leases.ts';
import {
  type ActiveGeneration,
  Fenced,
  leaseNameOfSubscriber,
  type ReadProgress,
  type SubscriberProgress,
} from '../../../application/ports/read-store.ts';

interface HeldLease {
  readonly owner: string | undefined;
  readonly fence: number;
  readonly expiresAt: number;
}

/** Leases on one clock, as the SQLite adapter grants them. */
export class MemoryLeases {
  readonly #leases = new Map<string, HeldLease>();
  readonly #clock: () => number;

  /** @param clock milliseconds since 1970 */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  acquire(name: string, owner: string, ttlMs: number): Lease | undefined {
    const now = this.#clock();
    const known = this.#leases.get(name);
    const isFree =
      known === undefined ||
      known.owner === undefined ||
      known.owner === owner ||
      known.expiresAt <= now ||
      known.expiresAt > now + Math.max(ttlMs, LONGEST_LEASE_MS);
    if (!isFree) return undefined;
    const fence = known === undefined ? 1 : known.fence + (known.owner === owner ? 0 : 1);
    this.#leases.set(name, { owner, fence, expiresAt: now + ttlMs });
    return { name, owner, fence };
  }

  release({ name, owner, fence }: Lease): void {
    const known = this.#leases.get(name);
    if (known?.owner === owner && known.fence === fence)
      this.#leases.set(name, { owner: undefined, fence, expiresAt: 0 });
  }

  isHeld(name: string): boolean {
    const [known, now] = [this.#leases.get(name), this.#clock()];
    return known?.owner !== undefined && known.expiresAt > now && known.expiresAt <= now + LONGEST_LEASE_MS;
  }

  /** @throws {Fenced} */
  check(name: string, fence: number): void {
    const current = this.#leases.get(name)?.fence;
    if (current !== fence) throw new Fenced(`${name} is at fence ${current ?? 'none'}, not ${fence}`);
  }
}

/** Active generations, and progress of subscribers. */
export const memoryProgress = (leases: MemoryLeases) => {
  const active = new Map<string, ActiveGeneration>();
  const subscribers = new Map<string, SubscriberProgress>();
  const activeOf = (projection: string): ActiveGeneration =>
    active.get(projection) ?? { active: undefined, building: undefined };
  return {
    activeGeneration: async (projection) => activeOf(projection),
    activeGenerations: async (names) => names.map(activeOf),
    setActiveGeneration: async (projection, { active: now, building }) =>
      void active.set(projection, { active: now, building }),
    subscriberProgress: async (name) => subscribers.get(name),
    subscriberCheckpoints: async () =>
      new Map([...subscribers].map(([name, { position }]): [string, Position] => [name, position])),
    saveSubscriberProgress: async (name, fence, { position, behind }) => {
      leases.check(leaseNameOfSubscriber(name), fence);
      if ((subscribers.get(name)?.position ?? '') > position)
        throw new Fenced(`the checkpoint of ${name} is already beyond ${position}`);
      subscribers.set(name, { position, behind: new Map(behind) });
    },
  } satisfies Partial<ReadProgress>;
};
