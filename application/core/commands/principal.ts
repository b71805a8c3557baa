import type { Scope } from '../../../domain/identity/scopes.ts';
import type { Plan } from '../../../domain/tenancy/tenant.ts';

/** The role of a person; guards and transitions check it. */
export type Role = 'admin' | 'operator';

/** The plan and entitlements of the tenant at the time of the request. */
export interface TenantRights {
  readonly plan: Plan;
  readonly entitlements: { readonly ledger: boolean; readonly assistant: boolean };
}

/** A person's session: by login, single sign-on, impersonation or a test token. */
export interface UserPrincipal {
  readonly kind: 'user';
  readonly tenantId: string;
  readonly rights: TenantRights;
  readonly userId: string;
  readonly email: string;
  /** The lower of the token's role and the user's current role. */
  readonly role: Role;
  /** E-mail of the platform admin who impersonates the user. */
  readonly impersonatedBy?: string | undefined;
  /** `api_test` for the one-hour test token. */
  readonly tokenUse?: 'api_test' | undefined;
}

/** An extension in the session of a person. */
export interface ExtensionPrincipal {
  readonly kind: 'extension';
  readonly tenantId: string;
  readonly rights: TenantRights;
  readonly extId: string;
  /** The person whose session it is. */
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  readonly scopes: readonly Scope[];
  readonly impersonatedBy?: string | undefined;
}

/** A long-lived API token; it belongs to the tenant, not to a person. */
export interface ApiTokenPrincipal {
  readonly kind: 'api_token';
  readonly tenantId: string;
  readonly rights: TenantRights;
  readonly tokenId: string;
  readonly scopes: readonly Scope[];
}

export interface PlatformAdminPrincipal {
  readonly kind: 'platform_admin';
  readonly adminId: string;
  readonly email: string;
}

export interface PartnerPrincipal {
  readonly kind: 'partner';
  readonly partnerId: string;
  readonly userId: string;
  readonly email: string;
  readonly permissions: readonly string[];
}

/** A principal that acts on a tenant's data. */
export type TenantPrincipal = UserPrincipal | ExtensionPrincipal | ApiTokenPrincipal;
export type Principal = TenantPrincipal | PlatformAdminPrincipal | PartnerPrincipal;
export type PrincipalKind = Principal['kind'];

/** Kinds whose credentials one authority issues; a route refuses credentials of another family. */
export type CredentialFamily = 'tenant' | 'platform' | 'partner';

export const familyOf = (kind: PrincipalKind): CredentialFamily => {
  switch (kind) {
    case 'user':
    case 'extension':
    case 'api_token':
      return 'tenant';
    case 'platform_admin':
      return 'platform';
    case 'partner':
      return 'partner';
    default:
      return kind satisfies never;
  }
};

/** Key of rate limits and idempotency keys: unique per tenant and caller. */
export const callerKey = (principal: Principal): string => {
  switch (principal.kind) {
    case 'user': {
      const { tenantId, userId, impersonatedBy } = principal;
      // A session under impersonation has its own key: session and user never get stored answers of each other.
      const user = `${tenantId}/user-${userId}`;
      return impersonatedBy === undefined ? user : `${user}/by-${impersonatedBy}`;
    }
    case 'extension':
      return `${principal.tenantId}/extension-${principal.extId}/user-${principal.userId}`;
    case 'api_token':
      return `${principal.tenantId}/api_token-${principal.tokenId}`;
    case 'platform_admin':
      return `platform/admin-${principal.adminId}`;
    case 'partner':
      return `partner_${principal.partnerId}/user-${principal.userId}`;
    default:
      return principal satisfies never;
  }
};

/** E-mail of the platform admin who impersonates, if any. */
export const impersonatorOf = (principal: Principal): string | undefined =>
  'impersonatedBy' in principal ? principal.impersonatedBy : undefined;

/**
 * The role that guards and transitions check: a person's own; `admin` for an API token or extension with `admin:*`,
 * else `operator` (decisions, section 3).
 */
export const effectiveRole = (principal: TenantPrincipal): Role => {
  switch (principal.kind) {
    case 'user':
      return principal.role;
    case 'extension':
    case 'api_token':
      return principal.scopes.includes('admin:*') ? 'admin' : 'operator';
    default:
      return principal satisfies never;
  }
};

/** Key of limits that several credentials share: one per tenant, one per partner, one for all platform admins. */
export const ownerKey = (principal: Principal): string => {
  if ('tenantId' in principal) return `tenant ${principal.tenantId}`;
  return principal.kind === 'partner' ? `partner ${principal.partnerId}` : 'platform';
};
