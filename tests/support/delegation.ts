import { z } from 'zod';
import type { Client } from './client.ts';
import { KEYS } from './server.ts';
import { now, type Person, signed, tenantClaims } from './tokens.ts';
import type { Member } from './world.ts';

/** Shapes of the API of API tokens and extensions; strict, to detect additional keys. */

export const API_TOKENS = '/api/v1/tenant/api-tokens';
export const TEST_TOKEN = `${API_TOKENS}/test-token`;
export const EXTENSIONS = '/api/v1/tenant/extensions';

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const tokenRecord = z.strictObject({
  id: z.uuid(),
  name: z.string(),
  prefix: z.string().regex(/^[0-9A-Za-z]{8}$/),
  scopes: z.array(z.string()).min(1),
  expires_at: instant.nullable(),
  created_at: instant,
});
export const mintedToken = tokenRecord.extend({
  token: z.string().regex(/^svc_pat_[0-9A-Za-z]{8}[0-9A-Za-z]{43}$/),
});
export type MintedToken = z.output<typeof mintedToken>;
export const replayedToken = tokenRecord;
export const listedToken = tokenRecord.extend({
  created_by: z.string(),
  last_used_at: instant.nullable(),
  revoked_at: instant.nullable(),
});
export const listedTokens = z.array(listedToken);

export const extension = z.strictObject({
  ext_id: z.string(),
  name: z.string(),
  version: z.string(),
  scopes: z.array(z.string()),
  url: z.string().nullable(),
  state: z.enum(['inactive', 'active']),
  created_by: z.string(),
  created_at: instant,
  updated_at: instant,
});
export const extensions = z.array(extension);

export const bearerOf = (expiresIn: number) =>
  z.strictObject({
    token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.literal(expiresIn),
  });

/** The claims of a JWT, without verification. */
export const claimsOf = (token: string): Record<string, unknown> =>
  z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()));

export const mintToken = async (admin: Client, own: Record<string, unknown> = {}): Promise<MintedToken> =>
  (await admin.post(API_TOKENS, { name: 'A token', scopes: ['data:read'], ...own })).as(mintedToken, 201);

export const manifestOf = (extId: string, own: Record<string, unknown> = {}) => ({
  ext_id: extId,
  name: 'An extension',
  version: '1.0.0',
  scopes: ['data:read', 'data:write'],
  ...own,
});

/** Installs and activates an extension. */
export const activeExtension = async (
  admin: Client,
  extId: string,
  own: Record<string, unknown> = {},
): Promise<void> => {
  (await admin.post(EXTENSIONS, manifestOf(extId, own))).as(extension, 201);
  (await admin.post(`${EXTENSIONS}/${extId}/activate`)).as(extension);
};

export const loadExtension = async (admin: Client, extId: string): Promise<string> =>
  (await admin.post(`${EXTENSIONS}/${extId}/token`)).as(bearerOf(900), 201).token;

/** An extension token with exactly the documented claims, minted outside the server. */
export const extensionToken = (
  person: Person | Member,
  extId: string,
  own: Readonly<Record<string, unknown>> = {},
): string =>
  signed(
    { ...tenantClaims(person), ext_id: extId, scopes: ['data:read'], exp: now() + 900, ...own },
    KEYS.TENANT_JWT_SECRET,
  );

/** Routes for persons only: they answer a valid delegated credential with 403 `tenant_session_required`. */
export const PERSONS_ONLY = [
  ['GET', '/api/v1/tenant/me'],
  ['GET', '/api/v1/tenant/users'],
  ['POST', '/api/v1/tenant/users'],
  ['GET', '/api/v1/tenant/messaging/conversations'],
  ['POST', '/api/v1/tenant/messaging/conversations'],
  ['GET', '/api/v1/tenant/notifications'],
  ['GET', '/api/v1/tenant/notifications/unread-count'],
  ['POST', '/api/v1/tenant/notifications/mark-read'],
] as const;

/** `[status, error]` of a request for persons only, which shows whether a delegated credential is accepted. */
export const outcome = async (client: Client): Promise<[number, string | undefined]> => {
  const answer = await client.get('/api/v1/tenant/me');
  return [answer.status, answer.error];
};
export const ACCEPTED = [403, 'tenant_session_required'] as const;
export const REFUSED = [401, 'invalid_credential'] as const;
