export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Fencing token: grows with every new holder and never restarts. */
  readonly fence: number;
}

/** A lease with more than this left (ms) was taken before the clock was set back, and counts as expired. */
export const LONGEST_LEASE_MS = 120_000;

/** Leases of followers, by the store's clock. */
export interface ReadLeases {
  /** Takes or renews a lease for `ttlMs` by the store's clock; undefined while another owner holds it. */
  acquireLease(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Takes or renews each lease as `acquireLease` does; a lease held by another owner does not affect the others. */
  acquireLeases(names: readonly string[], owner: string, ttlMs: number): Promise<(Lease | undefined)[]>;
  /** Ends the lease unless another acquisition has replaced it; the store keeps the fence. */
  releaseLease(lease: Lease): Promise<void>;
  /** Whether any owner holds the lease now, by the store's clock. */
  isLeaseHeld(name: string): Promise<boolean>;
}
