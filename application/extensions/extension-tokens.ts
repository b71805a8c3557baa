import { z } from 'zod';
import { invalidCredential } from '../../domain/core/errors.ts';
import { EXT_ID, type Extension, scopesOfToken } from '../../domain/extensions/extension.ts';
import { SCOPES } from '../../domain/identity/scopes.ts';
import type { RegisteredUser } from '../../domain/identity/user.ts';
import type { ExistingTenant } from '../../domain/tenancy/tenant.ts';
import type { ExtensionPrincipal } from '../core/commands/principal.ts';
import { tenantClaims } from '../identity/authentication-claims.ts';

/** Claims of extension tokens (specification, Authentication 4). A token with an unknown scope is invalid. */
export const extensionClaims = tenantClaims.extend({
  ext_id: z.string().regex(EXT_ID),
  scopes: z.array(z.enum(SCOPES)).max(100),
  /** Test tokens belong to persons, never to extensions. */
  token_use: z.undefined().optional(),
});
export type ExtensionClaims = z.output<typeof extensionClaims>;

export const EXTENSION_TOKEN_SECONDS = 900;

/**
 * The principal of an extension's token; tenant and user were checked as for a session.
 * @throws `invalid_credential` when the extension is inactive or was deactivated since the token was minted, or when
 * the person's role is now lower than the claim
 */
export const extensionPrincipal = (
  claims: ExtensionClaims & { readonly iat: number },
  tenant: ExistingTenant,
  user: RegisteredUser,
  extension: Extension,
): ExtensionPrincipal => {
  const scopes = scopesOfToken(extension, claims);
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
