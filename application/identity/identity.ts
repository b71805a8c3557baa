import { DomainError, existing, notFound } from '../../domain/core/errors.ts';
import type { AdminChange } from '../../domain/identity/admins.ts';
import { claimEmail, emailStream, reserveEmail } from '../../domain/identity/email.ts';
import { platformAdminStream, registerPlatformAdmin } from '../../domain/identity/platform-admin.ts';
import {
  changeUser,
  type RegisteredUser,
  registerUser,
  type User,
  type UserEvent,
  userStream,
} from '../../domain/identity/user.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Passwords } from '../ports/passwords.ts';
import { AdminWithdrawals } from './admin-withdrawals.ts';
import type { Directory } from './directory.ts';

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly displayName: string;
  readonly role: 'admin' | 'operator';
  readonly password?: string | undefined;
  /** A hash in place of `password`. */
  readonly passwordHash?: string | undefined;
}

export interface UserChange {
  readonly displayName?: string | undefined;
  readonly role?: 'admin' | 'operator' | undefined;
  readonly status?: 'active' | 'deactivated' | undefined;
  readonly password?: string | undefined;
}

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
  /** Keyed hash of a normalised e-mail; names its stream. */
  readonly emailHash: (email: string) => string;
}> {
  readonly #admins = new AdminWithdrawals(this.deps);

  /**
   * Reserves the e-mail, registers the user, claims the e-mail. After a crash in between, the reservation expires or a
   * retry completes it.
   * @throws `already_exists` (`field: email`)
   */
  async createUser(
    tenantId: string,
    user: NewUser,
    context: RequestContext,
  ): Promise<Written<{ user: UserView }>> {
    const known = await this.deps.directory.user(tenantId, user.id);
    // A repeated request for a forgotten person must not claim the e-mail again.
    if (known?.forgotten !== undefined) {
      const { position } = await this.deps.streams
        .of(userStream, tenantId, user.id)
        .execute({ cause: context.cause }, () => []);
      return { user: await this.view(known), position };
    }
    const emailHash = this.deps.emailHash(user.email);
    const email = this.deps.streams.of(emailStream, tenantId, emailHash);
    const { cause } = context;
    const claim = { emailHash, userId: user.id };
    const passwordHash =
      user.password === undefined ? user.passwordHash : await this.deps.passwords.hash(user.password);
    await email.execute({ cause }, (state, at) => reserveEmail(state, claim, at));
    const registered = await this.deps.streams
      .of(userStream, tenantId, user.id)
      .execute({ cause: context.cause }, (state) =>
        registerUser(state, {
          userId: user.id,
          email: user.email,
          displayName: user.displayName,
          role: user.role,
          origin: 'admin',
          passwordHash,
        }),
      );
    const claimed = await email.execute({ cause }, (state) => claimEmail(state, claim));
    return {
      user: await this.#view(registered),
      position: claimed.position ?? registered.position,
    };
  }

  /**
   * Registers the `sub` of a signed credential at its first request. Another user who holds the e-mail keeps it, since
   * the signature proves the id, not the e-mail.
   */
  async registerFromToken(
    tenantId: string,
    user: { id: string; email: string; role: 'admin' | 'operator' },
    context: RequestContext,
  ): Promise<Written<{ user: RegisteredUser }>> {
    const emailHash = this.deps.emailHash(user.email);
    const claim = { emailHash, userId: user.id };
    const email = this.deps.streams.of(emailStream, tenantId, emailHash);
    const { cause } = context;
    const reserved = await email
      .execute({ cause }, (state, at) => reserveEmail(state, claim, at))
      .then(() => true)
      .catch((error: unknown) => {
        if (error instanceof DomainError && error.code === 'already_exists') return false;
        throw error;
      });
    const { state, position } = await this.deps.streams
      .of(userStream, tenantId, user.id)
      .execute({ cause: context.cause }, (current) =>
        registerUser(current, {
          userId: user.id,
          email: user.email,
          displayName: user.email.split('@')[0] || user.email,
          role: user.role,
          origin: 'token',
        }),
      );
    if (reserved) await email.execute({ cause }, (current) => claimEmail(current, claim));
    return { user: existing(state), position };
  }

  /**
   * A change that ends an admin's rights is first decided on the tenant's admins, then on the user.
   * @throws `not_found`, `conflict`, `invalid_transition` for a forgotten person
   */
  async changeUser(
    tenantId: string,
    userId: string,
    change: UserChange,
    by: string,
    context: RequestContext,
  ): Promise<Written<{ user: UserView }>> {
    const user = await this.deps.directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    const passwordHash =
      change.password === undefined ? undefined : await this.deps.passwords.hash(change.password);
    const presentName = await this.deps.directory.open(user.displayName);
    const ends = endsOf(change);
    const withdrawn =
      ends.length === 0 ? undefined : await this.#admins.withdraw(tenantId, userId, by, ends, context);
    const outcome = await this.deps.streams.of(userStream, tenantId, userId).execute(context, (state) =>
      changeUser(
        state,
        {
          displayName: change.displayName,
          role: change.role,
          status: change.status,
          passwordHash,
          presentName,
          withdrawn,
        },
        by,
      ),
    );
    return { user: await this.#view(outcome), position: outcome.position };
  }

  /** @throws `already_exists` */
  async createPlatformAdmin(
    admin: { id: string; email: string; password: string },
    context: RequestContext,
  ): Promise<void> {
    const emailHash = this.deps.emailHash(admin.email);
    const claim = { emailHash, userId: admin.id };
    const email = this.deps.streams.of(emailStream, PLATFORM, emailHash);
    const { cause } = context;
    const passwordHash = await this.deps.passwords.hash(admin.password);
    await email.execute({ cause }, (state, at) => reserveEmail(state, claim, at));
    await this.deps.streams
      .of(platformAdminStream, PLATFORM, admin.id)
      .execute({ cause: context.cause }, (state) =>
        registerPlatformAdmin(state, { admin_id: admin.id, email: admin.email, password_hash: passwordHash }),
      );
    await email.execute({ cause }, (state) => claimEmail(state, claim));
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

  #view(outcome: Outcome<User, UserEvent>): Promise<UserView> {
    return this.view(existing(outcome.state));
  }
}

/** The ways in which a change ends an active admin's rights. */
const endsOf = ({ role, status }: UserChange): readonly AdminChange[] => [
  ...(role === 'operator' ? (['demoted'] as const) : []),
  ...(status === 'deactivated' ? (['deactivated'] as const) : []),
];
