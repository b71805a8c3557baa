import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';

/**
 * A lookup prefix of API tokens finds a token's tenant. It lives in the platform's streams and is written before the
 * token, so that each token can be found; a candidate whose token was never minted is ignored.
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

/** Tokens with the same prefix; with 62^8 prefixes almost always one. */
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
