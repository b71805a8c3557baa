import { PLATFORM } from '../../domain/core/platform.ts';
import { type Extension, extensionStream } from '../../domain/extensions/extension.ts';
import { emailStream } from '../../domain/identity/email.ts';
import { platformAdminStream, type RegisteredPlatformAdmin } from '../../domain/identity/platform-admin.ts';
import { type RegisteredUser, type User, userStream } from '../../domain/identity/user.ts';
import { type ExistingTenant, tenantStream } from '../../domain/tenancy/tenant.ts';
import type { TenantRights } from '../core/commands/principal.ts';
import type { Streams } from '../core/commands/streams.ts';
import { ERASED, type KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import { StoreUnavailable } from '../ports/event-store.ts';

/** Users that are read from the store again for one request: as many as a conversation has people. */
const MOST_FRESH = 50;

/**
 * Looks up users and tenants in their folded streams, not in a read model: a change takes effect at once, and on other
 * nodes when the live feed delivers it.
 * While a stream is cached, only the methods `fresh…` and `extensionWhere` may read it from the store.
 */
export class Directory extends WithDeps<{ readonly streams: Streams; readonly keys: KeyRing }> {
  /** The tenant if its stream is cached; `unknown` when it must be loaded. */
  cachedTenant(tenantId: string): ExistingTenant | undefined | 'unknown' {
    const cached = this.#tenant(tenantId).cached();
    return cached === undefined ? 'unknown' : ifExists(cached);
  }

  async tenant(tenantId: string): Promise<ExistingTenant | undefined> {
    return ifExists(await this.#tenant(tenantId).load());
  }

  /** The tenant's rights as stored now, since another node may have changed them. */
  async freshRights(tenantId: string): Promise<TenantRights | undefined> {
    const tenant = ifExists(await this.#tenant(tenantId).refresh());
    return tenant === undefined ? undefined : { plan: tenant.plan, entitlements: tenant.entitlements };
  }

  async user(tenantId: string, userId: string): Promise<RegisteredUser | undefined> {
    return ifExists(await this.#user(tenantId, userId).load());
  }

  /** The user as stored now, since another node may have changed it. */
  async freshUser(tenantId: string, userId: string): Promise<RegisteredUser | undefined> {
    return ifExists(await this.#user(tenantId, userId).refresh());
  }

  /** The cached extension if `isGood`, otherwise the stored one, since another node may have changed it. */
  extensionWhere(
    tenantId: string,
    extId: string,
    isGood: (extension: Extension) => boolean,
  ): Promise<Extension> {
    return this.deps.streams.of(extensionStream, tenantId, extId).loadWhere(isGood);
  }

  async users(tenantId: string, userIds: readonly string[]): Promise<Map<string, RegisteredUser>> {
    const found = new Map<string, RegisteredUser>();
    for (const id of new Set(userIds)) {
      const user = await this.user(tenantId, id);
      if (user !== undefined) found.set(id, user);
    }
    return found;
  }

  /**
   * Like {@link users}, but reads the store before a user counts as unknown or deactivated; for the first
   * `MOST_FRESH` of these only, since a text can mention a thousand ids.
   */
  async freshUsers(tenantId: string, userIds: readonly string[]): Promise<Map<string, RegisteredUser>> {
    const found = await this.users(tenantId, userIds);
    const missing = [...new Set(userIds)].filter((id) => found.get(id)?.status !== 'active');
    for (const id of missing.slice(0, MOST_FRESH)) {
      const user = await this.freshUser(tenantId, id);
      if (user !== undefined) found.set(id, user);
    }
    return found;
  }

  /** The id of the person who has claimed an e-mail; a reservation does not count. */
  async emailOwner(tenantId: string, emailHash: string): Promise<string | undefined> {
    const { state } = await this.deps.streams.of(emailStream, tenantId, emailHash).load();
    return state.status === 'claimed' ? state.userId : undefined;
  }

  async platformAdmin(adminId: string): Promise<RegisteredPlatformAdmin | undefined> {
    return ifExists(await this.deps.streams.of(platformAdminStream, PLATFORM, adminId).load());
  }

  /** Opens a sealed text; `[erased]` when {@link opened} is undefined. */
  async open(sealed: string): Promise<string> {
    return (await this.opened(sealed)) ?? ERASED;
  }

  /**
   * Opens a sealed text. Undefined when its key is destroyed, or missing after a restore with older keys; the person
   * may have another key by now, which does not open the text.
   * @throws {StoreUnavailable}
   */
  async opened(sealed: string): Promise<string | undefined> {
    try {
      return await this.deps.keys.open(sealed);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return undefined;
    }
  }

  /** The name of a person in a state of the stream; empty for a state without a person. */
  async nameIn({ state }: { readonly state: User }): Promise<string> {
    return state.exists ? this.open(state.displayName) : '';
  }

  /** Present e-mails by id, `[erased]` for a forgotten person; undefined for an unknown id. */
  async emails(
    tenantId: string,
    userIds: readonly string[],
  ): Promise<(userId: string) => string | undefined> {
    const emails = await this.#texts(tenantId, userIds, 'email');
    return (id) => emails.get(id);
  }

  /**
   * E-mail of a platform admin; undefined for an unknown id, such as the id of an operations tool with its own token.
   */
  async platformAdminEmail(adminId: string): Promise<string | undefined> {
    const admin = await this.platformAdmin(adminId);
    return admin && this.open(admin.email);
  }

  /** Present display names by id; `[erased]` for an unknown id. */
  async names(tenantId: string, userIds: readonly string[]): Promise<(userId: string) => string> {
    const names = userIds.length === 0 ? undefined : await this.#texts(tenantId, userIds, 'displayName');
    return (id) => names?.get(id) ?? ERASED;
  }

  async #texts(tenantId: string, userIds: readonly string[], field: 'email' | 'displayName') {
    const texts = new Map<string, string>();
    for (const [id, user] of await this.users(tenantId, userIds)) texts.set(id, await this.open(user[field]));
    return texts;
  }

  #tenant(tenantId: string) {
    return this.deps.streams.of(tenantStream, PLATFORM, tenantId);
  }

  #user(tenantId: string, userId: string) {
    return this.deps.streams.of(userStream, tenantId, userId);
  }
}

const ifExists = <Found extends { readonly exists: true }>({
  state,
}: {
  readonly state: { readonly exists: false } | Found;
}): Found | undefined => (state.exists ? state : undefined);
