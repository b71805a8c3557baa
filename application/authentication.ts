import { z } from 'zod';
import { DomainError } from '../domain/errors.ts';
import type { RegisteredUser } from '../domain/identity/user.ts';
import type { ExistingTenant } from '../domain/tenancy/tenant.ts';
import { isStorableText } from '../domain/text.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';
import type { Ids } from './ports/clock.ts';
import type { Position } from './ports/event-store.ts';
import type { TokenFamily } from './ports/tokens.ts';
import type { CredentialFamily, PlatformAdminPrincipal, Principal, UserPrincipal } from './principal.ts';

/** Ids that a token may name: part of stream names and of mention tokens. */
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$/;

/** Claims of tenant tokens (specification, Authentication 1, 3 and 7). */
export const tenantClaims = z.object({
  sub: z.string().regex(USER_ID),
  email: z.string().min(1).max(320).refine(isStorableText),
  tenant_id: z.string().min(1).max(64),
  role: z.enum(['admin', 'operator']),
  impersonated_by: z.string().min(1).max(320).optional(),
  token_use: z.literal('api_test').optional(),
  /** An extension's token is another kind: it has its own rules and is not taken here. */
  ext_id: z.undefined().optional(),
});
export type TenantClaims = z.output<typeof tenantClaims>;

/** Claims of platform admin tokens (specification, Authentication 2). */
export const platformClaims = z.object({
  sub: z.string().min(1).max(128),
  email: z.string().min(1).max(320),
  role: z.literal('super_admin'),
});
export type PlatformClaims = z.output<typeof platformClaims>;

export const TENANT_TOKEN_SECONDS = 24 * 3600;
export const SHORT_TOKEN_SECONDS = 3600;
export const PLATFORM_TOKEN_SECONDS = 8 * 3600;

/** Impersonation and test tokens live an hour, others a day. */
export const tenantTokenLifetime = (claims: TenantClaims): number =>
  claims.impersonated_by !== undefined || claims.token_use !== undefined
    ? SHORT_TOKEN_SECONDS
    : TENANT_TOKEN_SECONDS;

const refused = (): DomainError => new DomainError('invalid_credential', 'The credential is not valid.');

/** The one place that turns a credential into a principal. */
export class Authentication {
  readonly #tenantTokens: TokenFamily<TenantClaims>;
  readonly #platformTokens: TokenFamily<PlatformClaims>;
  readonly #directory: Directory;
  readonly #identity: Identity;
  readonly #ids: Ids;
  readonly #answered: (tenantId: string, position: Position) => void;

  constructor(deps: {
    tenantTokens: TokenFamily<TenantClaims>;
    platformTokens: TokenFamily<PlatformClaims>;
    directory: Directory;
    identity: Identity;
    ids: Ids;
    /** Told where a registration ended in the log. */
    answered: (tenantId: string, position: Position) => void;
  }) {
    this.#tenantTokens = deps.tenantTokens;
    this.#platformTokens = deps.platformTokens;
    this.#directory = deps.directory;
    this.#identity = deps.identity;
    this.#ids = deps.ids;
    this.#answered = deps.answered;
  }

  /**
   * Synchronous while tenant and user are in memory, which is the usual case.
   * @throws `unauthenticated`, `invalid_credential`, `credential_expired`, `tenant_suspended`
   */
  authenticate(token: string | undefined, family: CredentialFamily): Principal | Promise<Principal> {
    if (token === undefined) throw new DomainError('unauthenticated', 'A credential is required.');
    switch (family) {
      case 'tenant':
        return this.#user(token);
      case 'platform':
        return this.#platformAdmin(token);
      case 'partner':
        throw refused();
      default:
        return family satisfies never;
    }
  }

  /** When a tenant token runs out, in ms; for sockets. */
  expiryOf(token: string): number {
    return this.#tenantTokens.verify(token).exp * 1000;
  }

  #platformAdmin(token: string): PlatformAdminPrincipal {
    const claims = this.#platformTokens.verify(token);
    return { kind: 'platform_admin', adminId: claims.sub, email: claims.email };
  }

  #user(token: string): UserPrincipal | Promise<UserPrincipal> {
    const claims = this.#tenantTokens.verify(token);
    const tenant = this.#directory.cachedTenant(claims.tenant_id);
    const user = this.#directory.cachedUser(claims.tenant_id, claims.sub);
    if (tenant === 'unknown' || user === 'unknown' || user === undefined) return this.#load(claims);
    return principalOf(claims, tenant, user);
  }

  async #load(claims: TenantClaims): Promise<UserPrincipal> {
    const tenant = await this.#directory.tenant(claims.tenant_id);
    if (tenant === undefined) throw refused();
    const user =
      (await this.#directory.user(claims.tenant_id, claims.sub)) ?? (await this.#register(claims, tenant));
    return principalOf(claims, tenant, user);
  }

  /** The signature is the authority: the first request of an unknown `sub` registers an active user. */
  async #register(claims: TenantClaims, tenant: ExistingTenant): Promise<RegisteredUser> {
    if (tenant.status === 'suspended') throw suspended();
    const id = this.#ids.next();
    const { user, position } = await this.#identity.registerFromToken(
      tenant.id,
      { id: claims.sub, email: claims.email, role: claims.role },
      {
        cause: { actor: { kind: 'system', id: 'sign-on' }, correlationId: id, causationId: id },
        again: undefined,
        newId: () => this.#ids.next(),
      },
    );
    // The very request that registers somebody may list the people of the tenant.
    if (position !== undefined) this.#answered(tenant.id, position);
    return user;
  }
}

const suspended = (): DomainError => new DomainError('tenant_suspended', 'The tenant is suspended.');

const principalOf = (
  claims: TenantClaims,
  tenant: ExistingTenant | undefined,
  user: RegisteredUser,
): UserPrincipal => {
  if (tenant === undefined || user.status === 'deactivated') throw refused();
  if (tenant.status === 'suspended') throw suspended();
  return {
    kind: 'user',
    tenantId: tenant.id,
    rights: { plan: tenant.plan, entitlements: tenant.entitlements },
    userId: user.id,
    email: claims.email,
    // A role that was lowered counts as lowered at once.
    role: claims.role === 'admin' && user.role === 'admin' ? 'admin' : 'operator',
    impersonatedBy: claims.impersonated_by,
    tokenUse: claims.token_use,
  };
};
