import { DomainError, invalidCredential, tenantSuspended } from '../../domain/core/errors.ts';
import { type Extension, scopesOfToken } from '../../domain/extensions/extension.ts';
import { TOKEN_MARK } from '../../domain/identity/api-token.ts';
import type { RegisteredUser } from '../../domain/identity/user.ts';
import type { ExistingTenant } from '../../domain/tenancy/tenant.ts';
import type {
  CredentialFamily,
  ExtensionPrincipal,
  PartnerPrincipal,
  PlatformAdminPrincipal,
  Principal,
  TenantPrincipal,
  UserPrincipal,
} from '../core/commands/principal.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Ids } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import type { ApiTokenAuthentication } from './api-token-authentication.ts';
import type {
  ExtensionClaims,
  PlatformClaims,
  TenantClaims,
  TenantTokenClaims,
} from './authentication-claims.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';

type VerifiedClaims = TenantTokenClaims & { readonly iat: number };

/** Turns credentials of all families into principals; requests and sockets use no other way. */
export class Authentication extends WithDeps<{
  readonly tenantTokens: TokenFamily<TenantTokenClaims>;
  readonly platformTokens: TokenFamily<PlatformClaims>;
  readonly apiTokens: Pick<ApiTokenAuthentication, 'authenticate'>;
  readonly directory: Directory;
  readonly identity: Identity;
  readonly ids: Ids;
  /** The principal of a partner token. */
  readonly partner: (token: string) => Promise<PartnerPrincipal>;
  /** Called with the position of a registration. */
  readonly answered: (tenantId: string, position: Position) => void;
}> {
  /**
   * Reads no store while the states that the credential names are cached, which is usual.
   * @throws `unauthenticated`, `invalid_credential`, `credential_expired`, `tenant_suspended`
   */
  async authenticate(token: string | undefined, family: CredentialFamily): Promise<Principal> {
    if (token === undefined) throw new DomainError('unauthenticated', 'A credential is required.');
    switch (family) {
      case 'tenant':
        return token.startsWith(TOKEN_MARK) ? this.deps.apiTokens.authenticate(token) : this.#signed(token);
      case 'platform':
        return this.#platformAdmin(token);
      case 'partner':
        return this.deps.partner(token);
      default:
        return family satisfies never;
    }
  }

  /** When a tenant token expires (ms); for sockets. */
  expiryOf(token: string): number {
    return this.deps.tenantTokens.verify(token).exp * 1000;
  }

  #platformAdmin(token: string): PlatformAdminPrincipal {
    const claims = this.deps.platformTokens.verify(token);
    return { kind: 'platform_admin', adminId: claims.sub, email: claims.email };
  }

  async #signed(token: string): Promise<TenantPrincipal> {
    const claims = this.deps.tenantTokens.verify(token);
    const tenant = await this.deps.directory.tenant(claims.tenant_id);
    if (tenant === undefined) throw invalidCredential();
    const extension = claims.ext_id === undefined ? undefined : await this.#extension(claims);
    const user =
      (await this.deps.directory.user(claims.tenant_id, claims.sub)) ??
      (await this.#register(claims, tenant));
    return principalOf(claims, tenant, user, extension);
  }

  /** Reads the extension from the store if the cached one is not active: another node may just have activated it. */
  async #extension(claims: Extract<VerifiedClaims, { ext_id: string }>): Promise<Extension> {
    const isActive = (extension: Extension): boolean => scopesOfToken(extension, claims) !== undefined;
    const extension = await this.deps.directory.extensionWhere(claims.tenant_id, claims.ext_id, isActive);
    // A token of an inactive extension registers no user.
    if (!isActive(extension)) throw invalidCredential();
    return extension;
  }

  /** A valid signature suffices: the first request of an unknown `sub` registers an active user. */
  async #register(claims: TenantTokenClaims, tenant: ExistingTenant): Promise<RegisteredUser> {
    if (tenant.status === 'suspended') throw tenantSuspended();
    const id = this.deps.ids.next();
    const { user, position } = await this.deps.identity.registerFromToken(
      tenant.id,
      { id: claims.sub, email: claims.email, role: claims.role },
      {
        cause: {
          actor: { kind: 'system', id: 'sign-on' },
          impersonatedBy: claims.impersonated_by,
          correlationId: id,
          causationId: id,
        },
      },
    );
    // The same request may list the tenant's users and must find this one.
    if (position !== undefined) this.deps.answered(tenant.id, position);
    return user;
  }
}

/**
 * Whether the person's sessions were ended after this session began; a platform admin's impersonation is not ended.
 * Session tokens of this server carry the number of earlier ends, since clocks of nodes differ and `iat` has whole
 * seconds. If the number is higher than `sessionEnds`, this node has not read the last end yet.
 */
const isEnded = (
  { iat, impersonated_by, session }: VerifiedClaims,
  { sessionsSince, sessionEnds = 0 }: RegisteredUser,
): boolean => {
  if (impersonated_by !== undefined) return false;
  if (session !== undefined) return session < sessionEnds;
  return sessionsSince !== undefined && iat < sessionsSince;
};

const principalOf = (
  claims: VerifiedClaims,
  tenant: ExistingTenant,
  user: RegisteredUser,
  extension: Extension | undefined,
): TenantPrincipal => {
  if (user.status === 'deactivated' || isEnded(claims, user)) throw invalidCredential();
  const principal =
    claims.ext_id === undefined
      ? sessionPrincipal(claims, tenant, user)
      : extensionPrincipal(claims, tenant, user, extension);
  if (tenant.status === 'suspended') throw tenantSuspended();
  return principal;
};

const sessionPrincipal = (
  claims: TenantClaims,
  tenant: ExistingTenant,
  user: RegisteredUser,
): UserPrincipal => ({
  kind: 'user',
  tenantId: tenant.id,
  rights: { plan: tenant.plan, entitlements: tenant.entitlements },
  userId: user.id,
  email: claims.email,
  // A lowered role takes effect at once.
  role: claims.role === 'admin' && user.role === 'admin' ? 'admin' : 'operator',
  impersonatedBy: claims.impersonated_by,
  tokenUse: claims.token_use,
});

/**
 * @throws `invalid_credential` when the extension is inactive or was deactivated since the token was minted, or when
 * the person's role is now lower than the claim
 */
const extensionPrincipal = (
  claims: ExtensionClaims & { readonly iat: number },
  tenant: ExistingTenant,
  user: RegisteredUser,
  extension: Extension | undefined,
): ExtensionPrincipal => {
  const scopes = extension && scopesOfToken(extension, claims);
  if (scopes === undefined || (claims.role === 'admin' && user.role !== 'admin')) throw invalidCredential();
  return {
    kind: 'extension',
    tenantId: tenant.id,
    rights: { plan: tenant.plan, entitlements: tenant.entitlements },
    extId: claims.ext_id,
    userId: user.id,
    email: claims.email,
    role: claims.role,
    scopes,
    impersonatedBy: claims.impersonated_by,
  };
};
