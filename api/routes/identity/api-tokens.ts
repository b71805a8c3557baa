import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { ApiTokens } from '../../../application/identity/api-tokens.ts';
import { SHORT_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import type { TestTokens } from '../../../application/identity/test-tokens.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { DEFAULT_LIFETIME, LIFETIME_NAMES, type MintedApiToken } from '../../../domain/identity/api-token.ts';
import { SCOPES } from '../../../domain/identity/scopes.ts';
import { apiTokensOf } from '../../../projections/identity/api-tokens.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit, text, timestamp } from '../../http/schemas.ts';
import { adminRoute } from '../route-kinds.ts';

interface Deps {
  readonly apiTokens: ApiTokens;
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly testTokens: TestTokens;
}

/** Long-lived API tokens and the test token (specification, Authentication 6 and 7; decisions, section 3). */

const BASE = '/api/v1/tenant/api-tokens';
const TAG = 'API tokens';

const ONCE = 'Shown once: an answer that is repeated for an Idempotency-Key is without it.';

/** At least one scope; duplicates count once. */
export const scopeList = listOf(z.enum(SCOPES), {
  min: 1,
  max: 100,
  tooShort: 'At least one scope is needed.',
});

export const notBlank = (value: string): boolean => value.trim() !== '';

/** The bearer token as its creator gets it. */
export const mintedBearer = (seconds: number) =>
  z.object({
    token: z.string().optional().meta({ description: ONCE }),
    token_type: z.literal('Bearer'),
    expires_in: z.literal(seconds),
  });

const newToken = z.object({
  name: text({ max: 200 }).refine(notBlank, 'The name must not be blank.'),
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
    last_used_at: timestamp.nullable().meta({ description: 'Exact to about a minute.' }),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: 'ApiToken' });

const mintedView = z
  .object({ ...record, token: z.string().optional().meta({ description: ONCE }) })
  .meta({ id: 'MintedApiToken' });

const iso = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

const recordOf = (token: MintedApiToken) => ({
  id: token.id,
  name: token.name,
  prefix: token.prefix,
  scopes: token.scopes,
  expires_at: iso(token.expiresAt),
  created_at: new Date(token.createdAt).toISOString(),
});

export const apiTokenRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('api_tokens');
  return [
    adminRoute({
      method: 'post',
      path: BASE,
      operationId: 'mintApiToken',
      summary: 'Mint a long-lived API token',
      tag: TAG,
      refuses: ['api_token', 'impersonation'],
      body: newToken,
      responses: { 201: mintedView },
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { name, scopes, expires_in } = request.body;
        const { token, secret, position } = await deps.apiTokens.mint(
          tenantId,
          { name, scopes, lifetime: expires_in, createdBy: userId },
          contextOf(deps, request),
        );
        const { id, name: kept, ...rest } = recordOf(token);
        const shown = secret === undefined ? {} : { token: secret };
        return { status: 201, body: { id, name: kept, ...shown, ...rest }, position, secrets: ['token'] };
      },
    }),

    adminRoute({
      method: 'get',
      path: BASE,
      operationId: 'listApiTokens',
      summary: 'The tenant’s API tokens, newest first, revoked and expired ones too',
      tag: TAG,
      refuses: ['api_token'],
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(tokenView) },
      reads: ['api_tokens'],
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await apiTokensOf(reader, request.principal.tenantId, {
          limit: request.query.limit,
          after,
        });
        return { status: 200, body: page.docs, next: nextPage(page.next) };
      },
    }),

    adminRoute({
      method: 'delete',
      path: `${BASE}/:id`,
      aliases: ['/tenant/api-tokens/:id'],
      operationId: 'revokeApiToken',
      summary: 'Revoke an API token at once; the record stays, and revoking it again changes nothing',
      tag: TAG,
      refuses: ['api_token'],
      params: idParams,
      responses: { 200: tokenView },
      errors: ['not_found'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { token, position } = await deps.apiTokens.revoke(
          tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        const body = {
          ...recordOf(token),
          created_by: token.createdBy,
          last_used_at: iso(token.lastUsedAt),
          revoked_at: iso(token.revokedAt),
        };
        return { status: 200, body, position };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/test-token`,
      operationId: 'mintTestToken',
      summary: 'Mint a one-hour token with the authority of the calling admin’s session, for trying the API',
      tag: TAG,
      refuses: ['api_token', 'extension', 'test_token'],
      responses: { 201: mintedBearer(SHORT_TOKEN_SECONDS) },
      handle: async (request) => {
        const { token, position } = await deps.testTokens.mint(request.principal, contextOf(deps, request));
        const body = { token, token_type: 'Bearer', expires_in: SHORT_TOKEN_SECONDS };
        return { status: 201, body, position, secrets: ['token'] };
      },
    }),
  ];
};
