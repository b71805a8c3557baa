import { hash, timingSafeEqual } from 'node:crypto';
import { DomainError, existing, invalidCredential } from '../../domain/core/errors.ts';
import {
  checkReset,
  invalidReset,
  offerReset,
  replacePassword,
  userStream,
} from '../../domain/identity/user.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { TokenSecrets } from '../ports/token-secrets.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import type { TenantClaims } from './authentication-claims.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';
import { type Session, signIn } from './login.ts';

/** A reset link: tenant and user in base64url, a dot, a random secret. */
const LINK = /^([A-Za-z0-9_-]{1,600})\.([A-Za-z0-9]{43})$/;

const linkOf = (tenantId: string, userId: string, secret: string): string =>
  `${Buffer.from(`${tenantId}/${userId}`).toString('base64url')}.${secret}`;

const partsOf = (link: string): { tenantId: string; userId: string; secretHash: string } | undefined => {
  const [, person = '', secret] = LINK.exec(link) ?? [];
  const [, tenantId = '', userId = ''] =
    /^([^/]+)\/(.{1,128})$/s.exec(Buffer.from(person, 'base64url').toString('utf8')) ?? [];
  if (secret === undefined || !isTenantId(tenantId)) return undefined;
  return { tenantId, userId, secretHash: hash('sha256', secret, 'hex') };
};

const wrongPassword = (): DomainError => {
  const [field, message] = ['current_password', 'The current password is wrong.'];
  const issues = [{ path: field, code: 'wrong_password', message }];
  return new DomainError('constraint_violated', message, { field, issues });
};

/** Changes of passwords by the persons themselves, and resets by a one-time link (decision 47). */
export class PasswordChanges extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly identity: Identity;
  readonly passwords: Passwords;
  readonly secrets: Pick<TokenSecrets, 'randomText'>;
  readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
  readonly clock: Clock;
  readonly ids: Ids;
}> {
  /**
   * Changes the password, ends all sessions of the caller and makes a new session. A retried keyed request also gets a
   * session if its first try changed the password.
   * @throws `constraint_violated` for a wrong current password or a person without a password, `invalid_credential` for
   * a person who is no longer active
   */
  async change(
    tenantId: string,
    userId: string,
    password: { readonly current: string; readonly next: string },
    context: RequestContext,
  ): Promise<Written<Session>> {
    const { directory, passwords, streams } = this.deps;
    const known = await directory.freshUser(tenantId, userId);
    const stored = known?.passwordHash === undefined ? undefined : await directory.opened(known.passwordHash);
    const isRight = await passwords.verify(stored, password.current);
    // A wrong password is refused in the decision: a retry, whose first try succeeded, does not run the decision again.
    const passwordHash = isRight ? await passwords.hash(password.next) : undefined;
    const { state, position } = await streams.of(userStream, tenantId, userId).execute(context, (user) => {
      if (!user.exists || user.status !== 'active') throw invalidCredential();
      // Refuses a wrong password, and a password that another change has replaced meanwhile.
      if (passwordHash === undefined || user.passwordHash !== known?.passwordHash) throw wrongPassword();
      return replacePassword(user, passwordHash);
    });
    return { ...(await signIn(this.deps, tenantId, existing(state))), position };
  }

  /**
   * Makes a one-time link; an earlier link becomes invalid.
   * @returns `link` is undefined if an earlier try of the same keyed request made the link, since secrets are not
   * stored
   * @throws `not_found`, `invalid_transition`
   */
  async createResetLink(
    tenantId: string,
    userId: string,
    context: RequestContext,
  ): Promise<Written<{ link: string | undefined; expiresAt: number }>> {
    const secret = this.deps.secrets.randomText();
    const secretHash = hash('sha256', secret, 'hex');
    const { state, position } = await this.deps.streams
      .of(userStream, tenantId, userId)
      .execute(context, (user, { now }) => offerReset(user, secretHash, now));
    const { reset } = existing(state);
    return {
      link: reset?.secretHash === secretHash ? linkOf(tenantId, userId, secret) : undefined,
      expiresAt: reset?.expiresAt ?? this.deps.clock.now(),
      position,
    };
  }

  /** Uses a link once: sets the password and ends all sessions. @throws `invalid_credential` */
  async reset(link: string, next: string, requestId: string): Promise<Position | undefined> {
    const parts = partsOf(link);
    if (parts === undefined) throw invalidReset();
    const { tenantId, userId, secretHash } = parts;
    const given = Buffer.from(secretHash, 'hex');
    const matchesSecret = (stored: string): boolean => timingSafeEqual(given, Buffer.from(stored, 'hex'));
    const tenant = await this.deps.directory.tenant(tenantId);
    const known = await this.deps.directory.freshUser(tenantId, userId);
    if (tenant?.status !== 'active' || known === undefined) throw invalidReset();
    // Checks the link before it hashes the password, since hashing is expensive.
    checkReset(known, matchesSecret, this.deps.clock.now());
    const passwordHash = await this.deps.passwords.hash(next);
    const actor = { kind: 'user', id: userId } as const;
    const cause = { actor, correlationId: requestId, causationId: this.deps.ids.next() };
    const { position } = await this.deps.streams
      .of(userStream, tenantId, userId)
      .execute({ cause }, (user, { now }) =>
        replacePassword(checkReset(user, matchesSecret, now), passwordHash),
      );
    return position;
  }
}
