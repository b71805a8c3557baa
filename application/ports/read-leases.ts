export interface Lease {
  readonly name: string;
  readonly owner: string;
  /** Fencing token: grows with every new holder and never restarts. */
  readonly fence: number;
}

/** A lease counts as expired if its time left (ms) exceeds both this and `ttlMs`: the clock was set back meanwhile. */
export const LONGEST_LEASE_MS = 120_000;

/** Leases of followers and background work, by the store's clock. */
export interface ReadLeases {
  /** Takes or renews a lease for `ttlMs` by the store's clock; undefined while another owner holds it. */
  acquireLease(name: string, owner: string, ttlMs: number): Promise<Lease | undefined>;
  /** Takes or renews each lease as `acquireLease` does; a lease held by another owner does not affect the others. */
  acquireLeases(names: readonly string[], owner: string, ttlMs: number): Promise<(Lease | undefined)[]>;
  /** Ends the lease unless another owner has taken it since. The store keeps the fence. */
  releaseLease(lease: Lease): Promise<void>;
  /** Whether any owner holds the lease now, by the store's clock. */
  isLeaseHeld(name: string): Promise<boolean>;
}
