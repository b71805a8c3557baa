import { type Extension, extensionDecider } from '../domain/extensions/extension.ts';
import { type Email, emailDecider } from '../domain/identity/email.ts';
import { platformAdminDecider } from '../domain/identity/platform-admin.ts';
import { type RegisteredUser, type User, userDecider } from '../domain/identity/user.ts';
import { type ExistingTenant, type Tenant, tenantDecider } from '../domain/tenancy/tenant.ts';
import { ERASED, type KeyRing } from './sealing.ts';
import type { StreamStates } from './stream-states.ts';
import { PLATFORM, streamName } from './streams.ts';

/**
 * Who is who, from the folded streams of users and tenants and not from a read model: what a request changed counts
 * for the next one at once. Lookups answer synchronously while the stream is in memory.
 */
export class Directory {
  readonly #states: StreamStates;
  readonly #keys: KeyRing;

  constructor(states: StreamStates, keys: KeyRing) {
    this.#states = states;
    this.#keys = keys;
  }

  /** The tenant if its stream is in memory; `unknown` when it must be loaded. */
  cachedTenant(tenantId: string): ExistingTenant | undefined | 'unknown' {
    const cached = this.#states.cached(streamName(PLATFORM, tenantDecider.category, tenantId));
    if (cached === undefined) return 'unknown';
    // The stream's name says which decider folded it.
    const tenant = cached.state as Tenant;
    return tenant.exists ? tenant : undefined;
  }

  async tenant(tenantId: string): Promise<ExistingTenant | undefined> {
    const { state } = await this.#states.load(PLATFORM, tenantDecider, tenantId);
    return state.exists ? state : undefined;
  }

  /** The user if the stream is in memory; `unknown` when it must be loaded. */
  cachedUser(tenantId: string, userId: string): RegisteredUser | undefined | 'unknown' {
    const cached = this.#states.cached(streamName(tenantId, userDecider.category, userId));
    if (cached === undefined) return 'unknown';
    const user = cached.state as User;
    return user.exists ? user : undefined;
  }

  async user(tenantId: string, userId: string): Promise<RegisteredUser | undefined> {
    const { state } = await this.#states.load(tenantId, userDecider, userId);
    return state.exists ? state : undefined;
  }

  /** The extension if its stream is in memory; `unknown` when it must be loaded. */
  cachedExtension(tenantId: string, extId: string): Extension | 'unknown' {
    const cached = this.#states.cached(streamName(tenantId, extensionDecider.category, extId));
    return cached === undefined ? 'unknown' : (cached.state as Extension);
  }

  async extension(tenantId: string, extId: string): Promise<Extension> {
    return (await this.#states.load(tenantId, extensionDecider, extId)).state;
  }

  async users(tenantId: string, userIds: readonly string[]): Promise<Map<string, RegisteredUser>> {
    const found = new Map<string, RegisteredUser>();
    for (const id of new Set(userIds)) {
      const cached = this.cachedUser(tenantId, id);
      const user = cached === 'unknown' ? await this.user(tenantId, id) : cached;
      if (user !== undefined) found.set(id, user);
    }
    return found;
  }

  async emailHolder(tenantId: string, emailHash: string): Promise<Email> {
    return (await this.#states.load(tenantId, emailDecider, emailHash)).state;
  }

  /** A sealed text, or `[erased]` when its key is gone. */
  async open(sealed: string): Promise<string> {
    return (await this.#keys.open(sealed)) ?? ERASED;
  }

  /** Present e-mails by id, `[erased]` of who was erased; undefined for an id that is nobody's. */
  async emails(
    tenantId: string,
    userIds: readonly string[],
  ): Promise<(userId: string) => string | undefined> {
    const emails = new Map<string, string>();
    for (const [id, user] of await this.users(tenantId, userIds)) emails.set(id, await this.open(user.email));
    return (id) => emails.get(id);
  }

  /** E-mail of a platform admin; undefined for who is none here, such as an operations tool with a token of its own. */
  async platformAdminEmail(adminId: string): Promise<string | undefined> {
    const { state } = await this.#states.load(PLATFORM, platformAdminDecider, adminId);
    return state.exists ? this.open(state.email) : undefined;
  }

  /** Present display names by id; an unknown id is shown as `[erased]`. */
  async names(tenantId: string, userIds: readonly string[]): Promise<(userId: string) => string> {
    if (userIds.length === 0) return () => ERASED;
    const names = new Map<string, string>();
    for (const [id, user] of await this.users(tenantId, userIds)) {
      names.set(id, await this.open(user.displayName));
    }
    return (id) => names.get(id) ?? ERASED;
  }
}
