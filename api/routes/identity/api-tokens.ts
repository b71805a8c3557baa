import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ApiTokens } from '../../../application/identity/api-tokens.ts';
import { SHORT_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { DEFAULT_LIFETIME, LIFETIME_NAMES, type MintedApiToken } from '../../../domain/identity/api-token.ts';
import { SCOPES } from '../../../domain/identity/scopes.ts';
import { apiTokenById, apiTokensOf } from '../../../projections/identity/api-tokens.ts';
import type { Reply, Route } from '../../http/route.ts';
import { filledText, idParams, timestamp } from '../../http/schemas.ts';
import { creation, found, isoOrNull, listReply, ok, one, pagedList } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly apiTokens: ApiTokens;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/api-tokens';

/** A secret, shown only in the answer to the request that creates it. */
export const onceShown = z
  .string()
  .optional()
  .meta({ description: 'Shown once; a replayed answer (Idempotency-Key) does not contain it.' });

/** At least one scope; duplicates count once. */
export const scopeList = listOf(z.enum(SCOPES), {
  min: 1,
  max: 100,
  tooShort: 'At least one scope is needed.',
});

/** The bearer token as its creator gets it. */
export const mintedBearer = (seconds: number) =>
  z.object({
    token: onceShown,
    token_type: z.literal('Bearer'),
    expires_in: z.literal(seconds),
  });

export const bearerReply = (
  status: number,
  { token, position }: { readonly token: string | undefined; readonly position: Position | undefined },
  seconds: number,
): Reply => ({
  status,
  body: { token, token_type: 'Bearer', expires_in: seconds },
  position,
  secrets: ['token'],
});

const newToken = z.object({
  name: filledText(200, 'The name must not be blank.'),
  scopes: scopeList,
  expires_in: z.enum(LIFETIME_NAMES).default(DEFAULT_LIFETIME),
});

const record = {
  id: z.string(),
  name: z.string(),
  prefix: z.string().meta({ description: 'The eight characters behind `svc_pat_`.' }),
  scopes: z.array(z.enum(SCOPES)),
  expires_at: timestamp.nullable(),
  created_at: timestamp,
};

const tokenView = z
  .object({
    ...record,
    created_by: z.string(),
    last_used_at: timestamp.nullable().meta({ description: 'Accurate to about a minute.' }),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'ApiToken' });

const mintedView = z.object({ ...record, token: onceShown }).meta({ id: 'MintedApiToken' });

const recordOf = (token: MintedApiToken) => ({
  id: token.id,
  name: token.name,
  prefix: token.prefix,
  scopes: token.scopes,
  expires_at: isoOrNull(token.expiresAt),
  created_at: iso(token.createdAt),
});

/** Long-lived API tokens and the test token (specification, Authentication 6 and 7; decisions, section 3). */
export const apiTokenRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('api_tokens');
  return tagged('API tokens', [
    adminRoute({
      ...creation(mintedView, newToken),
      path: BASE,
      operationId: 'mintApiToken',
      summary: 'Mint a long-lived API token',
      description:
        'Only this answer contains `token`. Each request with the token is checked against its scopes. ' +
        'The token belongs to the tenant: it stays valid when its creator leaves. It expires after 90 ' +
        'days by default; see `expires_in`.',
      refuses: ['api_token', 'impersonation'],
      handle: async ({ principal: { tenantId, userId }, body: { name, scopes, expires_in }, context }) => {
        const wanted = { name, scopes, lifetime: expires_in, createdBy: userId };
        const { token, secret, position } = await deps.apiTokens.mint(tenantId, wanted, context);
        const { id, name: kept, ...rest } = recordOf(token);
        const body = { id, name: kept, token: secret, ...rest };
        return { status: 201, body, position, secrets: ['token'] };
      },
    }),

    adminRoute({
      ...pagedList(tokenView),
      path: BASE,
      operationId: 'listApiTokens',
      summary: 'The tenant’s API tokens, newest first, including revoked and expired ones',
      description:
        'Shows names, prefixes, scopes and when each token was last used; the tokens themselves are not ' +
        'stored.',
      refuses: ['api_token'],
      reads: ['api_tokens'],
      handle: ({ principal, query }) =>
        listReply(query, (page) => apiTokensOf(reader, principal.tenantId, page)),
    }),

    adminRoute({
      ...one('get', tokenView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getApiToken',
      summary: 'One API token, also a revoked or expired one, without its secret',
      description: 'The same fields as in the list; the secret is shown only when the token is minted.',
      refuses: ['api_token'],
      reads: ['api_tokens'],
      handle: async ({ principal, params }) =>
        ok(found(await apiTokenById(reader, principal.tenantId, params.id))),
    }),

    adminRoute({
      ...one('delete', tokenView, idParams),
      path: `${BASE}/:id`,
      aliases: ['/tenant/api-tokens/:id'],
      operationId: 'revokeApiToken',
      summary: 'Revoke an API token at once; the record stays, and revoking it again changes nothing',
      description: 'Later requests with the token fail with 401. The record stays for the audit.',
      refuses: ['api_token'],
      handle: async ({ principal: { tenantId }, params, context }) => {
        const { token, position } = await deps.apiTokens.revoke(tenantId, params.id, context);
        const body = {
          ...recordOf(token),
          created_by: token.createdBy,
          last_used_at: isoOrNull(token.lastUsedAt),
          revoked_at: isoOrNull(token.revokedAt),
        };
        return { status: 200, body, position };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/test-token`,
      operationId: 'mintTestToken',
      summary: 'Mint a one-hour token with the authority of the calling admin’s session, for trying the API',
      description:
        'For trying the API from a script. The token is not stored, so it cannot be revoked; each minting ' +
        'is an event in the log.',
      refuses: ['api_token', 'extension', 'test_token'],
      responses: { 201: mintedBearer(SHORT_TOKEN_SECONDS) },
      handle: async ({ principal, context }) =>
        bearerReply(201, await deps.apiTokens.mintTest(principal, context), SHORT_TOKEN_SECONDS),
    }),
  ]);
};
