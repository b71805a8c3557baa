import { z } from 'zod';
import { isStorableText } from '../../domain/core/text.ts';
import { EXT_ID } from '../../domain/extensions/extension.ts';
import { SCOPES } from '../../domain/identity/scopes.ts';

/** The form of user ids, which are part of stream names and of mention tokens. */
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$/;

/** Claims of people's sessions (specification, Authentication 1, 3 and 7). */
const tenantClaims = z.object({
  sub: z.string().regex(USER_ID),
  email: z.string().min(1).max(320).refine(isStorableText),
  tenant_id: z.string().min(1).max(64),
  role: z.enum(['admin', 'operator']),
  impersonated_by: z.string().min(1).max(320).optional(),
  token_use: z.literal('api_test').optional(),
  /** How often the person's sessions were ended before this sign-in; in this server's tokens, a header parameter. */
  session: z.number().int().nonnegative().optional(),
  /** Extension tokens have their own claims. */
  ext_id: z.undefined().optional(),
});
export type TenantClaims = z.output<typeof tenantClaims>;

/** Claims of extension tokens (specification, Authentication 4). A token with an unknown scope is invalid. */
const extensionClaims = tenantClaims.extend({
  ext_id: z.string().regex(EXT_ID),
  scopes: z.array(z.enum(SCOPES)).max(100),
  /** Test tokens belong to persons, never to extensions. */
  token_use: z.undefined().optional(),
});
export type ExtensionClaims = z.output<typeof extensionClaims>;

/** Claims of all tokens signed with the tenants' key: sessions and extensions. */
export const tenantTokenClaims = z.union([tenantClaims, extensionClaims]);
export type TenantTokenClaims = z.output<typeof tenantTokenClaims>;

/** Claims of platform admin tokens (specification, Authentication 2). */
export const platformClaims = z.object({
  sub: z.string().min(1).max(128),
  email: z.string().min(1).max(320),
  role: z.literal('super_admin'),
});
export type PlatformClaims = z.output<typeof platformClaims>;

export const TENANT_TOKEN_SECONDS = 24 * 3600;
export const SHORT_TOKEN_SECONDS = 3600;
export const EXTENSION_TOKEN_SECONDS = 900;
export const PLATFORM_TOKEN_SECONDS = 8 * 3600;

/**
 * `iat` of a token: the time of the event that records its minting; undefined without such an event.
 * @param events appended by the command, now or at an earlier try
 */
export const issuedAt = (events: readonly { readonly at: number }[]): number | undefined => {
  const [minted] = events;
  return minted === undefined ? undefined : Math.floor(minted.at / 1000);
};

/** The longest lifetime of a tenant token (seconds). Impersonation and test tokens are valid for an hour. */
export const tenantTokenLifetime = (claims: TenantTokenClaims): number => {
  if (claims.ext_id !== undefined) return EXTENSION_TOKEN_SECONDS;
  const isShort = claims.impersonated_by !== undefined || claims.token_use !== undefined;
  return isShort ? SHORT_TOKEN_SECONDS : TENANT_TOKEN_SECONDS;
};
