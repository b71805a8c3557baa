import { z } from 'zod';
import { DomainError, isRefusal } from '../../domain/core/errors.ts';
import { isStorableText, truncate } from '../../domain/core/text.ts';
import { emailStream, holderOf } from '../../domain/identity/email.ts';
import { linkIdentity, ssoIdentityStream } from '../../domain/identity/sso-identity.ts';
import {
  type RegisteredUser,
  type RegisterUser,
  registerUser,
  userStream,
} from '../../domain/identity/user.ts';
import type { CommandContext, Written } from '../core/commands/command.ts';
import { uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import { type ProvidedIdentity, SignInRefused } from '../ports/sso-provider.ts';
import type { Directory } from './directory.ts';
import { emailClaim, presentOwner } from './email-claims.ts';

const usableEmail = z.email().max(320).refine(isStorableText);

const nameOf = (name: string | undefined, email: string): string => {
  const given = name === undefined || !isStorableText(name) ? '' : truncate(name.trim(), 200).trim();
  return given || truncate(email.split('@')[0] || email, 200);
};

type Newcomer = Pick<RegisterUser, 'userId' | 'email' | 'displayName'>;

/**
 * Finds the user for a person of the tenant's identity provider (decisions, section 3, single sign-on). This is the
 * linked user; else the holder of the e-mail that the provider has verified; else a new user. An unverified e-mail
 * of another user is refused. A forgotten person becomes a new user.
 */
export class SsoAccounts extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly emailHash: (email: string) => string;
  /** Keyed hash of issuer and subject; the id of the identity's stream. */
  readonly identityHash: (issuer: string, subject: string) => string;
}> {
  /**
   * Safe to repeat: the id of a new user is derived from the identity, and the identity is linked last.
   * @throws {SignInRefused} for a deactivated user, and for a new person without a usable e-mail or with an unverified
   * e-mail that another user holds
   * @throws {DomainError} `unavailable` while another registration has reserved the e-mail
   */
  async accountOf(
    tenantId: string,
    identity: ProvidedIdentity,
    { cause }: CommandContext,
  ): Promise<Written<{ user: RegisteredUser }>> {
    const identityHash = this.deps.identityHash(identity.issuer, identity.subject);
    const known = await this.#linked(tenantId, identityHash);
    const forgotten = known !== undefined && (await this.#isForgotten(tenantId, known)) ? known : undefined;
    if (known !== undefined && forgotten === undefined) {
      return { user: await this.#active(tenantId, known), position: undefined };
    }
    const email = usableEmail.safeParse(identity.email);
    if (!email.success) throw new SignInRefused('no usable e-mail');
    const newcomer: Newcomer = {
      userId: await this.#newId(tenantId, identityHash),
      email: email.data,
      displayName: nameOf(identity.name, email.data),
    };
    const userId = identity.emailVerified
      ? await this.#holderOrNewcomer(tenantId, newcomer, cause)
      : await this.#unverified(tenantId, newcomer, cause);
    await this.#active(tenantId, userId);
    const { state, position } = await this.deps.streams
      .of(ssoIdentityStream, tenantId, identityHash)
      .execute({ cause }, (present) => linkIdentity(present, { identityHash, userId, insteadOf: forgotten }));
    // A concurrent sign-in may have linked another user first.
    return { user: await this.#active(tenantId, state.linked ? state.userId : userId), position };
  }

  /** Read from the store, since another node may have linked the identity. */
  async #linked(tenantId: string, identityHash: string): Promise<string | undefined> {
    const { state } = await this.deps.streams.of(ssoIdentityStream, tenantId, identityHash).refresh();
    return state.linked ? state.userId : undefined;
  }

  async #isForgotten(tenantId: string, userId: string): Promise<boolean> {
    return (await this.deps.directory.user(tenantId, userId))?.forgotten !== undefined;
  }

  /** Derives an id that is the same at each try and is not the id of a forgotten person. */
  async #newId(tenantId: string, identityHash: string): Promise<string> {
    let id = uuidFromName(`sso\n${tenantId}\n${identityHash}`);
    while (await this.#isForgotten(tenantId, id)) id = uuidFromName(`sso\n${tenantId}\n${id}`);
    return id;
  }

  async #active(tenantId: string, userId: string): Promise<RegisteredUser> {
    const user =
      (await this.deps.directory.user(tenantId, userId)) ??
      (await this.deps.directory.freshUser(tenantId, userId));
    if (user === undefined) throw new SignInRefused('no such user');
    if (user.status === 'deactivated') throw new SignInRefused('the user is deactivated');
    return user;
  }

  /** Returns the holder of the verified e-mail, otherwise registers a new user who claims the e-mail. */
  async #holderOrNewcomer(tenantId: string, newcomer: Newcomer, cause: Cause): Promise<string> {
    const { userId } = newcomer;
    const emailHash = this.deps.emailHash(newcomer.email);
    const owner = await presentOwner(this.deps, tenantId, emailHash, cause);
    if (owner !== undefined) return owner;
    const email = emailClaim(this.deps.streams, tenantId, emailHash, userId, cause);
    try {
      await email.reserve();
    } catch (error) {
      if (!isRefusal(error, 'already_exists')) throw error;
      const other = await this.deps.directory.emailOwner(tenantId, emailHash);
      if (other !== undefined) return other;
      throw new DomainError('unavailable', 'An account with this e-mail is being created. Try again.');
    }
    await this.#register(tenantId, newcomer, cause);
    await email.claim();
    return userId;
  }

  /** Registers a user, but does not claim the e-mail: the true owner of the e-mail must not get into this account. */
  async #unverified(tenantId: string, newcomer: Newcomer, cause: Cause): Promise<string> {
    // `execute` confirms a decision without events on the stored state, since another node may have changed the stream.
    await this.deps.streams
      .of(emailStream, tenantId, this.deps.emailHash(newcomer.email))
      .execute({ cause }, (state, at) => {
        if ([undefined, newcomer.userId].includes(holderOf(state, at))) return [];
        throw new SignInRefused('an unverified e-mail that somebody holds');
      });
    return this.#register(tenantId, newcomer, cause);
  }

  async #register(tenantId: string, newcomer: Newcomer, cause: Cause): Promise<string> {
    await this.deps.streams
      .of(userStream, tenantId, newcomer.userId)
      .execute({ cause }, (state) => registerUser(state, { ...newcomer, role: 'operator', origin: 'sso' }));
    return newcomer.userId;
  }
}
