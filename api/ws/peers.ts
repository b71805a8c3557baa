import { nextTick } from '../../application/core/runtime/timers.ts';
import { rateLimited } from '../http/errors.ts';
import type { Peer } from './peer.ts';

export interface SocketLimits {
  readonly perUser: number;
  readonly perTenant: number;
}

const RETRY_SECONDS = 10;
/** Peers that are pinged in one tick. */
const PINGED = 100;

interface Tenant {
  readonly users: Map<string, Set<Peer>>;
  count: number;
}

/** The connected peers, by tenant and user. */
export class Peers {
  readonly #byTenant = new Map<string, Tenant>();
  readonly #limits: SocketLimits;
  #count = 0;

  constructor(limits: SocketLimits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** @throws {DomainError} `rate_limited` when the user or the tenant has as many sockets as allowed */
  checkRoom(tenantId: string, userId: string): void {
    const tenant = this.#byTenant.get(tenantId);
    if (tenant === undefined) return;
    const own = tenant.users.get(userId)?.size ?? 0;
    if (own >= this.#limits.perUser || tenant.count >= this.#limits.perTenant) {
      throw rateLimited(RETRY_SECONDS, 'sockets');
    }
  }

  add(peer: Peer): void {
    const { tenantId, userId } = peer;
    const tenant = this.#byTenant.get(tenantId) ?? { users: new Map<string, Set<Peer>>(), count: 0 };
    this.#byTenant.set(tenantId, tenant);
    tenant.users.set(userId, (tenant.users.get(userId) ?? new Set<Peer>()).add(peer));
    tenant.count += 1;
    this.#count += 1;
  }

  remove(peer: Peer): void {
    const { tenantId, userId } = peer;
    const tenant = this.#byTenant.get(tenantId);
    const own = tenant?.users.get(userId);
    if (tenant === undefined || own?.delete(peer) !== true) return;
    this.#count -= 1;
    tenant.count -= 1;
    if (own.size === 0) tenant.users.delete(userId);
    if (tenant.count === 0) this.#byTenant.delete(tenantId);
  }

  hasTenant(tenantId: string): boolean {
    return this.#byTenant.has(tenantId);
  }

  ofUser(tenantId: string, userId: string): Iterable<Peer> {
    return this.#byTenant.get(tenantId)?.users.get(userId) ?? [];
  }

  *ofTenant(tenantId: string): Iterable<Peer> {
    for (const peers of this.#byTenant.get(tenantId)?.users.values() ?? []) yield* peers;
  }

  /** Pings all peers, some in each tick: a ping is a write to the connection. */
  async ping(): Promise<void> {
    for (const [nth, peer] of [...this.all()].entries()) {
      if (nth % PINGED === PINGED - 1) await nextTick();
      peer.ping();
    }
  }

  *all(): Iterable<Peer> {
    for (const tenantId of this.#byTenant.keys()) yield* this.ofTenant(tenantId);
  }
}
