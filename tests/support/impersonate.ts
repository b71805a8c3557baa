import { z } from 'zod';
import type { Client } from './client.ts';
import type { World } from './world.ts';

export const impersonationToken = z.strictObject({
  token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.literal(3600),
});

/** The documented claims of an impersonation token, and no others. */
export const impersonationClaims = z.strictObject({
  sub: z.string(),
  email: z.string(),
  tenant_id: z.string(),
  role: z.enum(['admin', 'operator']),
  impersonated_by: z.string(),
  iat: z.int(),
  exp: z.int(),
});

export const claimsOf = (token: string): unknown =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));

/** Begins an impersonation in the tenant. @returns its token, and a client with it */
export const impersonate = async (
  world: World,
  tenantId: string,
  body: { user_id?: string; reason?: string } = {},
): Promise<{ token: string; api: Client }> => {
  const answer = await world.platform.post(`/super/impersonate/${tenantId}`, body);
  const { token } = answer.as(impersonationToken);
  return { token, api: world.anybody.with(token) };
};
