import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { ApiTokenEvent } from '../../domain/identity/api-token.ts';
import type { Scope } from '../../domain/identity/scopes.ts';

/** The API tokens of a tenant, including revoked ones, without secrets or hashes (decisions, section 3). */

interface ApiTokenDoc {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly scopes: readonly Scope[];
  readonly created_by: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly revoked_at: string | null;
}

const apiTokens = collection<ApiTokenDoc>('api_tokens');

export const apiTokensProjection = projection<ApiTokenEvent>({
  name: 'api_tokens',
  version: 1,
  collections: [{ name: 'api_tokens', indexes: [byCreatedAt] }],
  on: {
    ApiTokenMinted: ({ data, at }) => [
      apiTokens.put(data.token_id, {
        id: data.token_id,
        name: data.name,
        prefix: data.prefix,
        scopes: data.scopes,
        created_by: data.created_by,
        created_at: iso(at),
        expires_at: data.expires_at,
        last_used_at: null,
        revoked_at: null,
      }),
    ],
    ApiTokenRevoked: ({ data, at }) => [apiTokens.merge(data.token_id, { revoked_at: iso(at) })],
    ApiTokenUsed: ({ data, at }) => [apiTokens.merge(data.token_id, { last_used_at: iso(at) })],
  },
});

// Queries

/** Newest first. */
export const apiTokensOf = apiTokens.list('by_created_at', 'desc');

export const apiTokenById = apiTokens.get;
