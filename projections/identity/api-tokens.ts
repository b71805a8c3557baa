import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import type { EventOf } from '../../domain/core/event.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { ApiTokenEvent, ApiTokenMinted } from '../../domain/identity/api-token.ts';

/** The API tokens of a tenant, including revoked ones, without secrets or hashes (decisions, section 3). */

interface ApiTokenDoc
  extends Pick<
    EventOf<typeof ApiTokenMinted>['data'],
    'name' | 'prefix' | 'scopes' | 'created_by' | 'expires_at'
  > {
  readonly id: string;
  readonly created_at: string;
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
