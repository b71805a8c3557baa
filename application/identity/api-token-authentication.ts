import { hash, timingSafeEqual } from 'node:crypto';
import { invalidCredential, tenantSuspended } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import {
  type ApiToken,
  apiTokenStream,
  type MintedApiToken,
  scopesOfUsable,
  type TokenCandidate,
  type TokenPrefix,
  tokenParts,
  tokenPrefixStream,
} from '../../domain/identity/api-token.ts';
import type { ExistingTenant } from '../../domain/tenancy/tenant.ts';
import type { ApiTokenPrincipal } from '../core/commands/principal.ts';
import type { Streams } from '../core/commands/streams.ts';
import { evictOldest } from '../core/memory/evict-oldest.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { Directory } from './directory.ts';
import type { TokenUses } from './token-uses.ts';

const MAX_CACHED = 10_000;

/** The stored hash of a secret tail: SHA-256 in lower-case hex. */
export const tailHash = (tail: string): string => hash('sha256', tail, 'hex');

/**
 * Checks API tokens (specification, Authentication 6). A token that was verified before is found by its digest and
 * checked against cached states, which the live feed keeps current. A token with an unknown prefix leaves nothing in
 * any cache.
 */
export class ApiTokenAuthentication extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly uses: Pick<TokenUses, 'note'>;
  readonly clock: Clock;
}> {
  /** Streams of verified tokens by SHA-256 of the whole token; the token itself is not kept. */
  readonly #verified = new Map<string, TokenCandidate>();

  /**
   * Reads no store when the token was verified before and its states are cached.
   * @throws `invalid_credential`, `credential_expired`, `tenant_suspended`
   */
  async authenticate(credential: string): Promise<ApiTokenPrincipal> {
    const parts = tokenParts(credential);
    if (parts === undefined) throw invalidCredential();
    const digest = hash('sha256', credential, 'base64');
    const found = this.#verified.get(digest);
    if (found === undefined) return this.#verify(parts, digest);
    const { state } = await this.deps.streams.of(apiTokenStream, found.tenantId, found.tokenId).load();
    return this.#principal(state, await this.deps.directory.tenant(found.tenantId));
  }

  async #verify(parts: { prefix: string; tail: string }, digest: string): Promise<ApiTokenPrincipal> {
    const presented = Buffer.from(tailHash(parts.tail), 'hex');
    let match: { found: TokenCandidate; token: MintedApiToken } | undefined;
    for (const candidate of await this.#candidates(parts.prefix)) {
      const { state } = await this.deps.streams
        .of(apiTokenStream, candidate.tenantId, candidate.tokenId)
        .load();
      // The prefix was assigned, but the token was never minted, or another try minted it under another prefix.
      if (!state.exists || state.prefix !== parts.prefix) continue;
      if (timingSafeEqual(Buffer.from(state.secretHash, 'hex'), presented)) {
        match = { found: candidate, token: state };
      }
    }
    if (match === undefined) throw invalidCredential();
    const tenant = await this.deps.directory.tenant(match.found.tenantId);
    const principal = this.#principal(match.token, tenant);
    this.#verified.set(digest, match.found);
    evictOldest(this.#verified, MAX_CACHED);
    return principal;
  }

  /** Tokens with this prefix, read without caching, so that random tokens do not evict other states. */
  async #candidates(prefix: string): Promise<TokenPrefix> {
    const { streams } = this.deps;
    const [found] = await streams.loadAll(tokenPrefixStream, PLATFORM, [prefix], { uncached: true });
    return found?.state ?? [];
  }

  #principal(token: ApiToken, tenant: ExistingTenant | undefined): ApiTokenPrincipal {
    if (!token.exists || tenant === undefined) throw invalidCredential();
    const scopes = scopesOfUsable(token, this.deps.clock.now());
    if (tenant.status === 'suspended') throw tenantSuspended();
    this.deps.uses.note(tenant.id, token.id);
    return {
      kind: 'api_token',
      tenantId: tenant.id,
      rights: { plan: tenant.plan, entitlements: tenant.entitlements },
      tokenId: token.id,
      scopes,
    };
  }
}
