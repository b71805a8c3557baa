/** Who a request acts as, after its credential was checked. One kind per credential family. */
export type Role = 'admin' | 'operator';

export interface UserPrincipal {
  readonly kind: 'user';
  readonly tenantId: string;
  readonly userId: string;
  readonly email: string;
  /** The lower of the token's role and the user's present one. */
  readonly role: Role;
  /** E-mail of the platform admin who impersonates the user. */
  readonly impersonatedBy?: string | undefined;
  /** `api_test` for the one-hour test token. */
  readonly tokenUse?: 'api_test' | undefined;
}

export interface PlatformAdminPrincipal {
  readonly kind: 'platform_admin';
  readonly adminId: string;
  readonly email: string;
}

export type Principal = UserPrincipal | PlatformAdminPrincipal;
export type PrincipalKind = Principal['kind'];

/** The scope of rate limits and idempotency keys: unique per tenant and caller. */
export const callerKey = (principal: Principal): string => {
  switch (principal.kind) {
    case 'user':
      return `${principal.tenantId}/user-${principal.userId}`;
    case 'platform_admin':
      return `platform/admin-${principal.adminId}`;
    default:
      return principal satisfies never;
  }
};
