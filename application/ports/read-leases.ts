export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Fencing token: grows with every new holder and never restarts. */
  readonly fence: number;
}

/** A lease that expires later than this (ms) was taken before the clock was set back, and counts as expired. */
export const LONGEST_LEASE_MS = 120_000;

/** Leases of followers, by the store's clock. */
export interface ReadLeases {
  /** Takes or renews a lease for `ttlMs` by the store's clock; undefined while another owner holds it. */
  acquireLease(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Takes or renews each lease as `acquireLease` does, by its name; each on its own, not all or none. */
  acquireLeases(names: readonly string[], owner: string, ttlMs: number): Promise<(Lease | undefined)[]>;
  /** Ends the lease if it is still this one; its fence is kept. */
  releaseLease(lease: Lease): Promise<void>;
  /** Whether any owner holds the lease now, by the store's clock. */
  isLeaseHeld(name: string): Promise<boolean>;
}
