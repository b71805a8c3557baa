import { z } from 'zod';
import { isStorableText } from '../../domain/core/text.ts';
import type { RegisteredUser } from '../../domain/identity/user.ts';

/** User ids: part of stream names and of mention tokens. */
export const USER_ID = /^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$/;

/** Claims of people's sessions (specification, Authentication 1, 3 and 7). */
export const tenantClaims = z.object({
  sub: z.string().regex(USER_ID),
  email: z.string().min(1).max(320).refine(isStorableText),
  tenant_id: z.string().min(1).max(64),
  role: z.enum(['admin', 'operator']),
  impersonated_by: z.string().min(1).max(320).optional(),
  token_use: z.literal('api_test').optional(),
  /**
   * How often the person's sessions had been ended at the sign-in, from the token's header; tokens of others than this server have
   * none.
   */
  session: z.number().int().nonnegative().optional(),
  /** Extension tokens have their own claims. */
  ext_id: z.undefined().optional(),
});
export type TenantClaims = z.output<typeof tenantClaims>;

/** Claims of a sign-in. */
export const sessionClaims = (
  tenantId: string,
  { id, email, role }: { readonly id: string } & Pick<TenantClaims, 'email' | 'role'>,
  { sessionEnds = 0 }: Pick<RegisteredUser, 'sessionEnds'>,
): TenantClaims => ({ sub: id, email, tenant_id: tenantId, role, session: sessionEnds });

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

/**
 * `iat` of a token with an event for its minting: the time of that event.
 * @param events appended by the command, now or at an earlier try
 */
export const issuedAt = (events: readonly { readonly at: number }[]): number | undefined => {
  const [minted] = events;
  return minted === undefined ? undefined : Math.floor(minted.at / 1000);
};

/** Impersonation and test tokens are valid for an hour, others for a day. */
export const sessionLifetime = (claims: TenantClaims): number =>
  claims.impersonated_by !== undefined || claims.token_use !== undefined
    ? SHORT_TOKEN_SECONDS
    : TENANT_TOKEN_SECONDS;
