import { z } from 'zod';
import { DomainError, invalidCredential, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type DecisionContext, folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { SCOPES, type Scope } from './scopes.ts';

/**
 * A long-lived API token (specification, Authentication 6; decisions, section 3): `svc_pat_<8 characters of lookup
 * prefix><43 characters of secret tail>`, both base62. It belongs to the tenant and outlives its creator's account.
 * The tail itself is not stored, only its SHA-256. A revoked token stays in the lists.
 */

export const TOKEN_MARK = 'svc_pat_';
export const PREFIX_LENGTH = 8;
export const TAIL_LENGTH = 43;

const SPELLING = new RegExp(`^${TOKEN_MARK}([0-9A-Za-z]{${PREFIX_LENGTH}})([0-9A-Za-z]{${TAIL_LENGTH}})$`);

/** Splits a token; undefined for a malformed text. */
export const tokenParts = (token: string): { prefix: string; tail: string } | undefined => {
  const [, prefix, tail] = SPELLING.exec(token) ?? [];
  return prefix === undefined || tail === undefined ? undefined : { prefix, tail };
};

const DAY_MS = 86_400_000;

/** Choices of `expires_in` at mint, in ms. */
export const LIFETIMES = {
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
  '1y': 365 * DAY_MS,
  never: undefined,
} as const;
export type Lifetime = keyof typeof LIFETIMES;
export const LIFETIME_NAMES = ['30d', '90d', '1y', 'never'] as const satisfies readonly Lifetime[];
export const DEFAULT_LIFETIME: Lifetime = '90d';

// Events

export const ApiTokenMinted = defineEvent(
  'ApiTokenMinted',
  z.object({
    token_id: z.string(),
    name: z.string(),
    prefix: z.string(),
    /** SHA-256 of the secret tail, lower-case hex. */
    secret_hash: z.string(),
    scopes: z.array(z.enum(SCOPES)),
    /** An instant; null for never. */
    expires_at: z.string().nullable(),
    created_by: z.string(),
  }),
);
export const ApiTokenRevoked = defineEvent('ApiTokenRevoked', z.object({ token_id: z.string() }));
/** Appended at most once a minute for each token. */
export const ApiTokenUsed = defineEvent('ApiTokenUsed', z.object({ token_id: z.string() }));

export const apiTokenEvents = [ApiTokenMinted, ApiTokenRevoked, ApiTokenUsed] as const;
export type ApiTokenEvent = EventOf<(typeof apiTokenEvents)[number]>;

// State

export interface MintedApiToken {
  readonly exists: true;
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly secretHash: string;
  readonly scopes: readonly Scope[];
  readonly createdBy: string;
  /** Times in ms. */
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly lastUsedAt: number | undefined;
  readonly revokedAt: number | undefined;
}
export type ApiToken = { readonly exists: false } | MintedApiToken;

const onToken = onlyIn((state: ApiToken): state is MintedApiToken => state.exists);

export const apiTokenStream: StreamType<ApiToken, ApiTokenEvent> = {
  category: 'api_token',
  stateVersion: 1,
  initial: { exists: false },
  evolve: folded({
    ApiTokenMinted: (_state, data, { at }) => ({
      exists: true,
      id: data.token_id,
      name: data.name,
      prefix: data.prefix,
      secretHash: data.secret_hash,
      scopes: data.scopes,
      createdBy: data.created_by,
      createdAt: at,
      expiresAt: data.expires_at === null ? undefined : Date.parse(data.expires_at),
      lastUsedAt: undefined,
      revokedAt: undefined,
    }),
    ApiTokenRevoked: onToken((token, _data, { at }) => ({ ...token, revokedAt: at })),
    ApiTokenUsed: onToken((token, _data, { at }) => ({ ...token, lastUsedAt: at })),
  }),
};

// Commands

export interface MintApiToken
  extends Pick<MintedApiToken, 'name' | 'prefix' | 'secretHash' | 'scopes' | 'createdBy'> {
  readonly tokenId: string;
  readonly lifetime: Lifetime;
}

// Decide

/** Minting the same id again changes nothing: the first secret stays valid. */
export const mintApiToken = (
  state: ApiToken,
  command: MintApiToken,
  context: DecisionContext,
): readonly ApiTokenEvent[] => {
  if (state.exists) return [];
  const life = LIFETIMES[command.lifetime];
  return decided(ApiTokenMinted, {
    token_id: command.tokenId,
    name: command.name,
    prefix: command.prefix,
    secret_hash: command.secretHash,
    scopes: [...new Set(command.scopes)],
    expires_at: life === undefined ? null : new Date(context.now + life).toISOString(),
    created_by: command.createdBy,
  });
};

/** A repeated command gives no events. @throws `not_found` */
export const revokeApiToken = (state: ApiToken): readonly ApiTokenEvent[] => {
  if (!state.exists) throw notFound();
  return state.revokedAt === undefined ? decided(ApiTokenRevoked, { token_id: state.id }) : [];
};

/** Minimum time between two recorded uses of a token, across all nodes. */
export const USE_INTERVAL_MS = 60_000;

export const useApiToken = (state: ApiToken, context: DecisionContext): readonly ApiTokenEvent[] => {
  if (!state.exists || state.revokedAt !== undefined) return [];
  if (state.lastUsedAt !== undefined && context.now - state.lastUsedAt < USE_INTERVAL_MS) return [];
  return decided(ApiTokenUsed, { token_id: state.id });
};

/**
 * The scopes of a usable token.
 * @throws `invalid_credential` for a revoked token, `credential_expired` at or after the token's `expiresAt`
 */
export const scopesOfUsable = (token: MintedApiToken, now: number): readonly Scope[] => {
  if (token.revokedAt !== undefined) {
    throw invalidCredential();
  }
  if (token.expiresAt !== undefined && token.expiresAt <= now) {
    throw new DomainError('credential_expired', 'The credential has expired.');
  }
  return token.scopes;
};

// Lookup prefixes

/**
 * Maps the lookup prefix of a token to its tenant, in a stream of the platform. Appended before the token is minted, so
 * that each token can be found; a candidate whose token was never minted is ignored.
 */
export const TokenPrefixAssigned = defineEvent(
  'TokenPrefixAssigned',
  z.object({ prefix: z.string(), tenant_id: z.string(), token_id: z.string() }),
);

export const tokenPrefixEvents = [TokenPrefixAssigned] as const;
export type TokenPrefixEvent = EventOf<(typeof tokenPrefixEvents)[number]>;

export interface TokenCandidate {
  readonly tenantId: string;
  readonly tokenId: string;
}

/** Tokens with the same prefix: almost always one token, because there are 62^8 prefixes. */
export type TokenPrefix = readonly TokenCandidate[];

export const tokenPrefixStream: StreamType<TokenPrefix, TokenPrefixEvent> = {
  category: 'token_prefix',
  stateVersion: 1,
  initial: [],
  evolve: (state, { data }) => [...state, { tenantId: data.tenant_id, tokenId: data.token_id }],
};

/** Assigning a prefix to the same token again changes nothing. */
export const assignPrefix = (
  state: TokenPrefix,
  prefix: string,
  candidate: TokenCandidate,
): readonly TokenPrefixEvent[] =>
  state.some((one) => one.tenantId === candidate.tenantId && one.tokenId === candidate.tokenId)
    ? []
    : decided(TokenPrefixAssigned, { prefix, tenant_id: candidate.tenantId, token_id: candidate.tokenId });
