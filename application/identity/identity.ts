import { existing, isRefusal, notFound } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import type { Changes } from '../../domain/core/stream-type.ts';
import type { AdminChange } from '../../domain/identity/admins.ts';
import {
  platformAdminStream,
  registerPlatformAdmin,
  setPlatformAdminPassword,
} from '../../domain/identity/platform-admin.ts';
import { changeUser, type RegisteredUser, registerUser, userStream } from '../../domain/identity/user.ts';
import type { CommandContext, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Passwords } from '../ports/passwords.ts';
import { withdrawRights } from './admin-withdrawals.ts';
import type { Directory } from './directory.ts';
import { emailClaim, presentOwner } from './email-claims.ts';

interface NewUser extends Pick<RegisteredUser, 'id' | 'email' | 'displayName' | 'role'> {
  readonly password?: string | undefined;
  /** The hash of a password, given instead of `password`. */
  readonly passwordHash?: string | undefined;
}

type UserChange = Changes<Pick<RegisteredUser, 'displayName' | 'role' | 'status'> & { password: string }>;

export interface UserView {
  readonly id: string;
  readonly email: string;
  readonly display_name: string;
  readonly role: 'admin' | 'operator';
  readonly status: 'active' | 'deactivated';
  readonly created_at: string;
}

/** Use cases on people: a tenant's users and the platform's admins (decisions, section 3). */
export class Identity extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly passwords: Passwords;
  /** Keyed hash of a normalised e-mail; the id of the e-mail's stream. */
  readonly emailHash: (email: string) => string;
}> {
  /**
   * Reserves the e-mail, registers the user, claims the e-mail; a retry completes these steps. After a crash before the
   * registration, the reservation expires; after a crash before the claim, the subscriber `email-claimer` claims the
   * e-mail.
   * @throws `already_exists` (`field: email`)
   */
  async createUser(
    tenantId: string,
    { id, password, passwordHash: givenHash, ...user }: NewUser,
    { cause }: CommandContext,
  ): Promise<Written<{ user: UserView }>> {
    const { streams, directory, passwords } = this.deps;
    const known = await directory.user(tenantId, id);
    // A repeated request for a forgotten person must not claim the e-mail again.
    if (known?.forgotten !== undefined) {
      const { position } = await streams.of(userStream, tenantId, id).refresh();
      return { user: await this.view(known), position };
    }
    const email = this.#emailClaim(tenantId, user.email, id, cause);
    const passwordHash = password === undefined ? givenHash : await passwords.hash(password);
    await presentOwner(this.deps, tenantId, this.deps.emailHash(user.email), cause);
    await email.reserve();
    const registered = await streams
      .of(userStream, tenantId, id)
      .execute({ cause }, (state) =>
        registerUser(state, { ...user, userId: id, origin: 'admin', passwordHash }),
      );
    const claimed = await email.claim();
    return {
      user: await this.view(existing(registered.state)),
      position: claimed.position ?? registered.position,
    };
  }

  /**
   * Registers the `sub` of a signed credential at its first request. If another user holds the e-mail, the claim stays
   * with that user, since the signature proves the id, not the e-mail.
   */
  async registerFromToken(
    tenantId: string,
    user: Pick<RegisteredUser, 'id' | 'email' | 'role'>,
    { cause }: CommandContext,
  ): Promise<Written<{ user: RegisteredUser }>> {
    const { id, email, role } = user;
    const claim = this.#emailClaim(tenantId, email, id, cause);
    const reserved = await claim
      .reserve()
      .then(() => true)
      .catch((error: unknown) => {
        if (isRefusal(error, 'already_exists')) return false;
        throw error;
      });
    const displayName = email.split('@')[0] || email;
    const { state, position } = await this.deps.streams
      .of(userStream, tenantId, id)
      .execute({ cause }, (current) =>
        registerUser(current, { userId: id, email, displayName, role, origin: 'token' }),
      );
    if (reserved) await claim.claim();
    return { user: existing(state), position };
  }

  /**
   * A change that ends an admin's rights is decided first on the stream of the tenant's admins, then on the user's
   * stream.
   * @throws `not_found`, `conflict`, `invalid_transition` for a forgotten person
   */
  async changeUser(
    tenantId: string,
    userId: string,
    { password, ...change }: UserChange,
    by: string,
    context: RequestContext,
  ): Promise<Written<{ user: UserView }>> {
    const { streams, directory, passwords } = this.deps;
    const passwordHash = password === undefined ? undefined : await passwords.hash(password);
    const ends = endsOf(change);
    const withdrawn =
      ends.length === 0 ? undefined : await withdrawRights(this.deps, tenantId, userId, by, ends, context);
    const { state, position } = await streams.of(userStream, tenantId, userId).execute(context, {
      prepare: (current) => directory.nameIn(current),
      decide: (current, _context, presentName) =>
        changeUser(current, { ...change, passwordHash, presentName, withdrawn }, by),
    });
    return { user: await this.view(existing(state)), position };
  }

  /** @throws `already_exists` */
  async createPlatformAdmin(
    { id, email, password }: { id: string; email: string; password: string },
    { cause }: CommandContext,
  ): Promise<void> {
    const claim = this.#emailClaim(PLATFORM, email, id, cause);
    const password_hash = await this.deps.passwords.hash(password);
    await claim.reserve();
    await this.deps.streams
      .of(platformAdminStream, PLATFORM, id)
      .execute({ cause }, (state) => registerPlatformAdmin(state, { admin_id: id, email, password_hash }));
    await claim.claim();
  }

  /** The new password applies to later sign-ins; issued tokens stay valid. @throws `not_found` */
  async setPlatformAdminPassword(email: string, password: string, { cause }: CommandContext): Promise<void> {
    const { streams, directory, passwords, emailHash } = this.deps;
    const adminId = await directory.emailOwner(PLATFORM, emailHash(email));
    if (adminId === undefined) throw notFound();
    const passwordHash = await passwords.hash(password);
    await streams
      .of(platformAdminStream, PLATFORM, adminId)
      .execute({ cause }, (state) => setPlatformAdminPassword(state, passwordHash));
  }

  /** @throws `not_found` */
  async get(tenantId: string, userId: string): Promise<UserView> {
    const user = await this.deps.directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    return this.view(user);
  }

  async view(user: RegisteredUser): Promise<UserView> {
    return {
      id: user.id,
      email: await this.deps.directory.open(user.email),
      display_name: await this.deps.directory.open(user.displayName),
      role: user.role,
      status: user.status,
      created_at: new Date(user.createdAt).toISOString(),
    };
  }

  #emailClaim(tenantId: string, email: string, userId: string, cause: Cause) {
    return emailClaim(this.deps.streams, tenantId, this.deps.emailHash(email), userId, cause);
  }
}

/** The ways in which a change ends an active admin's rights. */
const endsOf = ({ role, status }: UserChange): readonly AdminChange[] => [
  ...(role === 'operator' ? (['demoted'] as const) : []),
  ...(status === 'deactivated' ? (['deactivated'] as const) : []),
];
