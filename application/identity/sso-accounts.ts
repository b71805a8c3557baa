import { z } from 'zod';
import { DomainError } from '../../domain/core/errors.ts';
import { isStorableText, truncate } from '../../domain/core/text.ts';
import {
  claimEmail,
  emailStream,
  holderOf,
  releaseEmail,
  reserveEmail,
} from '../../domain/identity/email.ts';
import { linkIdentity, ssoIdentityStream } from '../../domain/identity/sso-identity.ts';
import { type RegisteredUser, registerUser, userStream } from '../../domain/identity/user.ts';
import { type RequestContext, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Position } from '../ports/event-store.ts';
import type { ProvidedIdentity } from '../ports/sso-provider.ts';
import type { Directory } from './directory.ts';

/** Refused for a reason that is logged and not told. */
export class NoAccount extends Error {
  override readonly name = 'NoAccount';
}

const usableEmail = z.email().max(320).refine(isStorableText);

const nameOf = (name: string | undefined, email: string): string => {
  const given = name === undefined || !isStorableText(name) ? '' : truncate(name.trim(), 200).trim();
  return given || truncate(email.split('@')[0] || email, 200);
};

interface Newcomer {
  readonly userId: string;
  readonly email: string;
  readonly displayName: string;
}

/**
 * Which user of a tenant a person of its identity provider is (decisions, section 3, single sign-on): the linked one,
 * else the one whose e-mail the provider has verified, else a new one. Nobody comes in under an unverified e-mail that
 * is somebody else's: whatever they did would show that person's address. Whoever was forgotten and comes
 * again is a new person: nothing leads back to the old account.
 */
export class SsoAccounts {
  readonly #streams: Streams;
  readonly #directory: Directory;
  readonly #emailHash: (email: string) => string;
  readonly #identityHash: (issuer: string, subject: string) => string;

  /** @param identityHash keyed hash of issuer and subject; names the identity's stream */
  constructor(deps: {
    streams: Streams;
    directory: Directory;
    emailHash: (email: string) => string;
    identityHash: (issuer: string, subject: string) => string;
  }) {
    this.#streams = deps.streams;
    this.#directory = deps.directory;
    this.#emailHash = deps.emailHash;
    this.#identityHash = deps.identityHash;
  }

  /**
   * Each step may be repeated after a crash: a new user's id is derived from the identity and the users of it that were
   * forgotten, and the link comes last.
   * @throws {NoAccount} for a deactivated user, and for a newcomer without a usable e-mail or with an unverified one
   * that somebody holds
   */
  async accountOf(
    tenantId: string,
    identity: ProvidedIdentity,
    context: RequestContext,
  ): Promise<{ user: RegisteredUser; position: Position | undefined }> {
    const identityHash = this.#identityHash(identity.issuer, identity.subject);
    const known = await this.#linked(tenantId, identityHash);
    const forgotten = known !== undefined && (await this.#isForgotten(tenantId, known)) ? known : undefined;
    if (known !== undefined && forgotten === undefined) {
      return { user: await this.#active(tenantId, known), position: undefined };
    }
    const email = usableEmail.safeParse(identity.email);
    if (!email.success) throw new NoAccount('no usable e-mail');
    const newcomer: Newcomer = {
      userId: await this.#newId(tenantId, identityHash),
      email: email.data,
      displayName: nameOf(identity.name, email.data),
    };
    const userId = identity.emailVerified
      ? await this.#holderOrNewcomer(tenantId, newcomer, context)
      : await this.#unverified(tenantId, newcomer, context);
    await this.#active(tenantId, userId);
    const { state, position } = await this.#streams
      .of(ssoIdentityStream, tenantId, identityHash)
      .execute({ cause: context.cause }, (present) =>
        linkIdentity(present, { identityHash, userId, insteadOf: forgotten }),
      );
    // Who linked first has decided.
    return { user: await this.#active(tenantId, state.linked ? state.userId : userId), position };
  }

  /** From the store and not from memory: another node may have linked a moment ago. */
  async #linked(tenantId: string, identityHash: string): Promise<string | undefined> {
    const { state } = await this.#streams.of(ssoIdentityStream, tenantId, identityHash).refresh();
    return state.linked ? state.userId : undefined;
  }

  async #isForgotten(tenantId: string, userId: string): Promise<boolean> {
    return (await this.#directory.user(tenantId, userId))?.forgotten !== undefined;
  }

  /** The same at each try, and never that of somebody who was forgotten. */
  async #newId(tenantId: string, identityHash: string): Promise<string> {
    let id = uuidFromName(`sso\n${tenantId}\n${identityHash}`);
    while (await this.#isForgotten(tenantId, id)) id = uuidFromName(`sso\n${tenantId}\n${id}`);
    return id;
  }

  async #active(tenantId: string, userId: string): Promise<RegisteredUser> {
    const user =
      (await this.#directory.user(tenantId, userId)) ?? (await this.#directory.freshUser(tenantId, userId));
    if (user === undefined) throw new NoAccount('no such user');
    if (user.status === 'deactivated') throw new NoAccount('the user is deactivated');
    return user;
  }

  /** The address is the provider's word for who this is: its holder, or a new user who then holds it. */
  async #holderOrNewcomer(tenantId: string, newcomer: Newcomer, context: RequestContext): Promise<string> {
    const { userId } = newcomer;
    const emailHash = this.#emailHash(newcomer.email);
    const claim = { emailHash, userId };
    const email = this.#streams.of(emailStream, tenantId, emailHash);
    const { cause } = context;
    const holder = await this.#directory.emailHolder(tenantId, emailHash);
    if (holder.status === 'claimed') {
      if (!(await this.#isForgotten(tenantId, holder.userId))) return holder.userId;
      // Whoever forgot the holder has not come so far yet.
      const freed = { emailHash, userId: holder.userId };
      await email.execute({ cause }, (state) => releaseEmail(state, freed));
    }
    try {
      await email.execute({ cause }, (state, at) => reserveEmail(state, claim, at));
    } catch (error) {
      if (!(error instanceof DomainError && error.code === 'already_exists')) throw error;
      const other = await this.#directory.emailHolder(tenantId, emailHash);
      if (other.status === 'claimed') return other.userId;
      throw new DomainError('unavailable', 'An account with this e-mail is being made. Try again.');
    }
    await this.#register(tenantId, newcomer, context);
    await email.execute({ cause }, (state) => claimEmail(state, claim));
    return userId;
  }

  /**
   * Without a claim on the address: one that nobody has verified must not lead its true owner, who comes later, into
   * this account.
   */
  async #unverified(tenantId: string, newcomer: Newcomer, context: RequestContext): Promise<string> {
    // A decision that writes nothing is confirmed against the store: another node may have given the address away.
    await this.#streams
      .of(emailStream, tenantId, this.#emailHash(newcomer.email))
      .execute({ cause: context.cause }, (state, at) => {
        if ([undefined, newcomer.userId].includes(holderOf(state, at))) return [];
        throw new NoAccount('an unverified e-mail that somebody holds');
      });
    return this.#register(tenantId, newcomer, context);
  }

  async #register(tenantId: string, newcomer: Newcomer, context: RequestContext): Promise<string> {
    await this.#streams
      .of(userStream, tenantId, newcomer.userId)
      .execute({ cause: context.cause }, (state) =>
        registerUser(state, { ...newcomer, role: 'operator', origin: 'sso' }),
      );
    return newcomer.userId;
  }
}
