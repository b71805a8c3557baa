import type { Peer } from './peer.ts';

/** The connected peers, by tenant and user. */
export class Peers {
  readonly #byTenant = new Map<string, Map<string, Set<Peer>>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(peer: Peer): void {
    const { tenantId, userId } = peer;
    const users = this.#byTenant.get(tenantId) ?? new Map<string, Set<Peer>>();
    this.#byTenant.set(tenantId, users);
    users.set(userId, (users.get(userId) ?? new Set<Peer>()).add(peer));
    this.#count += 1;
  }

  remove(peer: Peer): void {
    const { tenantId, userId } = peer;
    const users = this.#byTenant.get(tenantId);
    const own = users?.get(userId);
    if (users === undefined || own?.delete(peer) !== true) return;
    this.#count -= 1;
    if (own.size === 0) users.delete(userId);
    if (users.size === 0) this.#byTenant.delete(tenantId);
  }

  hasTenant(tenantId: string): boolean {
    return this.#byTenant.has(tenantId);
  }

  ofUser(tenantId: string, userId: string): Iterable<Peer> {
    return this.#byTenant.get(tenantId)?.get(userId) ?? [];
  }

  *ofTenant(tenantId: string): Iterable<Peer> {
    for (const peers of this.#byTenant.get(tenantId)?.values() ?? []) yield* peers;
  }

  *all(): Iterable<Peer> {
    for (const tenantId of this.#byTenant.keys()) yield* this.ofTenant(tenantId);
  }
}
