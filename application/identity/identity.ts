import { DomainError, notFound } from '../domain/errors.ts';
import { claimEmail, emailDecider, reserveEmail } from '../domain/identity/email.ts';
import { platformAdminDecider, registerPlatformAdmin } from '../domain/identity/platform-admin.ts';
import {
  changeUser,
  type RegisteredUser,
  registerUser,
  type User,
  type UserEvent,
  userDecider,
} from '../domain/identity/user.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Position } from './ports/event-store.ts';
import type { Passwords } from './ports/passwords.ts';
import type { RequestContext } from './request-context.ts';
import { PLATFORM } from './streams.ts';

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly displayName: string;
  readonly role: 'admin' | 'operator';
  readonly password?: string | undefined;
  /** In place of `password`: what was hashed before. */
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
export class Identity {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #passwords: Passwords;
  readonly #emailHash: (email: string) => string;

  /** @param emailHash keyed hash of a folded e-mail; names its stream */
  constructor(deps: {
    commands: CommandHandler;
    directory: Directory;
    passwords: Passwords;
    emailHash: (email: string) => string;
  }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#passwords = deps.passwords;
    this.#emailHash = deps.emailHash;
  }

  /**
   * Reserves the e-mail, registers the user, claims the e-mail: a crash in between leaves a reservation that lapses,
   * or is completed by the retry.
   * @throws `already_exists` (`field: email`)
   */
  async createUser(
    tenantId: string,
    user: NewUser,
    context: RequestContext,
  ): Promise<{ user: UserView; position: Position | undefined }> {
    const known = await this.#directory.user(tenantId, user.id);
    // A request that is repeated after its person was forgotten must not take the address again.
    if (known?.forgotten !== undefined) {
      const stream = { tenantId, decider: userDecider, id: user.id, cause: context.cause };
      const { position } = await this.#commands.execute({ ...stream, decide: () => [] });
      return { user: await this.view(known), position };
    }
    const emailHash = this.#emailHash(user.email);
    const email = { tenantId, decider: emailDecider, id: emailHash, cause: context.cause };
    const claim = { emailHash, userId: user.id };
    const passwordHash =
      user.password === undefined ? user.passwordHash : await this.#passwords.hash(user.password);
    await this.#commands.execute({ ...email, decide: (state, at) => reserveEmail(state, claim, at) });
    const registered = await this.#commands.execute({
      tenantId,
      decider: userDecider,
      id: user.id,
      cause: context.cause,
      decide: (state) =>
        registerUser(state, {
          userId: user.id,
          email: user.email,
          displayName: user.displayName,
          role: user.role,
          origin: 'admin',
          passwordHash,
        }),
    });
    const claimed = await this.#commands.execute({ ...email, decide: (state) => claimEmail(state, claim) });
    return {
      user: await this.#view(registered),
      position: claimed.position ?? registered.position,
    };
  }

  /**
   * The first request of a signed credential registers its `sub`. The e-mail stays with whoever has it already:
   * the signature speaks for the id, not for the address.
   */
  async registerFromToken(
    tenantId: string,
    user: { id: string; email: string; role: 'admin' | 'operator' },
    context: RequestContext,
  ): Promise<{ user: RegisteredUser; position: Position | undefined }> {
    const emailHash = this.#emailHash(user.email);
    const claim = { emailHash, userId: user.id };
    const email = { tenantId, decider: emailDecider, id: emailHash, cause: context.cause };
    const reserved = await this.#commands
      .execute({ ...email, decide: (state, at) => reserveEmail(state, claim, at) })
      .then(() => true)
      .catch((error: unknown) => {
        if (error instanceof DomainError && error.code === 'already_exists') return false;
        throw error;
      });
    const { state, position } = await this.#commands.execute({
      tenantId,
      decider: userDecider,
      id: user.id,
      cause: context.cause,
      decide: (current) =>
        registerUser(current, {
          userId: user.id,
          email: user.email,
          displayName: user.email.split('@')[0] || user.email,
          role: user.role,
          origin: 'token',
        }),
    });
    if (reserved) await this.#commands.execute({ ...email, decide: (current) => claimEmail(current, claim) });
    if (!state.exists) throw notFound();
    return { user: state, position };
  }

  /** @throws `not_found`, `conflict`, `invalid_transition` for a forgotten person */
  async changeUser(
    tenantId: string,
    userId: string,
    change: UserChange,
    by: string,
    context: RequestContext,
  ): Promise<{ user: UserView; position: Position | undefined }> {
    const user = await this.#directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    const passwordHash =
      change.password === undefined ? undefined : await this.#passwords.hash(change.password);
    const presentName = await this.#directory.open(user.displayName);
    const outcome = await this.#commands.execute({
      tenantId,
      decider: userDecider,
      id: userId,
      cause: context.cause,
      again: context.again,
      decide: (state) =>
        changeUser(
          state,
          {
            displayName: change.displayName,
            role: change.role,
            status: change.status,
            passwordHash,
            presentName,
          },
          by,
        ),
    });
    return { user: await this.#view(outcome), position: outcome.position };
  }

  /** @throws `already_exists` */
  async createPlatformAdmin(
    admin: { id: string; email: string; password: string },
    context: RequestContext,
  ): Promise<void> {
    const emailHash = this.#emailHash(admin.email);
    const claim = { emailHash, userId: admin.id };
    const email = { tenantId: PLATFORM, decider: emailDecider, id: emailHash, cause: context.cause };
    const passwordHash = await this.#passwords.hash(admin.password);
    await this.#commands.execute({ ...email, decide: (state, at) => reserveEmail(state, claim, at) });
    await this.#commands.execute({
      tenantId: PLATFORM,
      decider: platformAdminDecider,
      id: admin.id,
      cause: context.cause,
      decide: (state) =>
        registerPlatformAdmin(state, { adminId: admin.id, email: admin.email, passwordHash }),
    });
    await this.#commands.execute({ ...email, decide: (state) => claimEmail(state, claim) });
  }

  /** @throws `not_found` */
  async get(tenantId: string, userId: string): Promise<UserView> {
    const user = await this.#directory.user(tenantId, userId);
    if (user === undefined) throw notFound();
    return this.view(user);
  }

  async view(user: RegisteredUser): Promise<UserView> {
    return {
      id: user.id,
      email: await this.#directory.open(user.email),
      display_name: await this.#directory.open(user.displayName),
      role: user.role,
      status: user.status,
      created_at: new Date(user.createdAt).toISOString(),
    };
  }

  #view(outcome: Outcome<User, UserEvent>): Promise<UserView> {
    if (!outcome.state.exists) throw notFound();
    return this.view(outcome.state);
  }
}
