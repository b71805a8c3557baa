import { hash, timingSafeEqual } from 'node:crypto';
import { DomainError } from '../../domain/core/errors.ts';
import {
  type ApiToken,
  apiTokenStream,
  type MintedApiToken,
  scopesOfUsable,
  TOKEN_MARK,
  tokenParts,
} from '../../domain/identity/api-token.ts';
import {
  type TokenCandidate,
  type TokenPrefix,
  type TokenPrefixEvent,
  tokenPrefixStream,
} from '../../domain/identity/token-prefix.ts';
import type { ExistingTenant } from '../../domain/tenancy/tenant.ts';
import type { ApiTokenPrincipal } from '../core/commands/principal.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { EventCodec, RecordedEvent } from '../core/events/event-codec.ts';
import { PLATFORM, streamName } from '../core/events/stream-name.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Directory } from './directory.ts';
import type { TokenUses } from './token-uses.ts';

const MAX_CACHED = 10_000;
const MAX_CANDIDATES = 1000;

const refused = (): DomainError => new DomainError('invalid_credential', 'The credential is not valid.');

/** SHA-256 of a secret tail, as it is stored: lower-case hex. */
export const tailHash = (tail: string): string => hash('sha256', tail, 'hex');

/** By its form alone; whether it is one of ours is for {@link ApiTokenAuthentication} to say. */
export const looksLikeApiToken = (credential: string): boolean => credential.startsWith(TOKEN_MARK);

/**
 * Checks API tokens (specification, Authentication 6). A token that was verified once is known by its digest and then
 * checked against folded states in memory, which the live feed keeps current; what is no token of ours leaves nothing
 * behind, neither here nor among those states.
 */
export class ApiTokenAuthentication {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #streams: Streams;
  readonly #directory: Directory;
  readonly #uses: Pick<TokenUses, 'note'>;
  readonly #clock: Clock;
  /** Where a verified token's record is, by SHA-256 of the whole token: never by the token itself. */
  readonly #verified = new Map<string, TokenCandidate>();

  constructor(deps: {
    events: EventStore;
    codec: EventCodec;
    streams: Streams;
    directory: Directory;
    uses: Pick<TokenUses, 'note'>;
    clock: Clock;
  }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#streams = deps.streams;
    this.#directory = deps.directory;
    this.#uses = deps.uses;
    this.#clock = deps.clock;
  }

  /**
   * Synchronous in the steady state.
   * @throws `invalid_credential`, `credential_expired`, `tenant_suspended`
   */
  authenticate(credential: string): ApiTokenPrincipal | Promise<ApiTokenPrincipal> {
    const parts = tokenParts(credential);
    if (parts === undefined) throw refused();
    const digest = hash('sha256', credential, 'base64');
    const found = this.#verified.get(digest);
    if (found === undefined) return this.#verify(parts, digest);
    const cached = this.#streams.of(apiTokenStream, found.tenantId, found.tokenId).cached();
    const tenant = this.#directory.cachedTenant(found.tenantId);
    if (cached === undefined || tenant === 'unknown') return this.#load(found);
    // The stream's name says which stream type folded it.
    return this.#principal(cached.state as ApiToken, tenant);
  }

  async #verify(parts: { prefix: string; tail: string }, digest: string): Promise<ApiTokenPrincipal> {
    const presented = Buffer.from(tailHash(parts.tail), 'hex');
    let match: { found: TokenCandidate; token: MintedApiToken } | undefined;
    for (const candidate of await this.#candidates(parts.prefix)) {
      const { state } = await this.#streams.of(apiTokenStream, candidate.tenantId, candidate.tokenId).load();
      // Assigned and never minted, or minted at another try under another prefix.
      if (!state.exists || state.prefix !== parts.prefix) continue;
      if (timingSafeEqual(Buffer.from(state.secretHash, 'hex'), presented)) {
        match = { found: candidate, token: state };
      }
    }
    if (match === undefined) throw refused();
    const tenant = await this.#directory.tenant(match.found.tenantId);
    const principal = this.#principal(match.token, tenant);
    this.#verified.set(digest, match.found);
    if (this.#verified.size > MAX_CACHED) {
      const oldest = this.#verified.keys().next().value;
      if (oldest !== undefined) this.#verified.delete(oldest);
    }
    return principal;
  }

  /**
   * Read from the log and kept nowhere: random tokens would otherwise push out of memory the states of those who have
   * business here.
   */
  async #candidates(prefix: string): Promise<TokenPrefix> {
    const stream = streamName(PLATFORM, tokenPrefixStream.category, prefix);
    let state = tokenPrefixStream.initial;
    for (const stored of await this.#events.readStream(stream, { limit: MAX_CANDIDATES })) {
      // The stream's name says which events it holds.
      const event = this.#codec.decode(stored) as RecordedEvent<TokenPrefixEvent>;
      state = tokenPrefixStream.evolve(state, event, { at: event.at, revision: event.revision });
    }
    return state;
  }

  async #load({ tenantId, tokenId }: TokenCandidate): Promise<ApiTokenPrincipal> {
    const { state } = await this.#streams.of(apiTokenStream, tenantId, tokenId).load();
    return this.#principal(state, await this.#directory.tenant(tenantId));
  }

  #principal(token: ApiToken, tenant: ExistingTenant | undefined): ApiTokenPrincipal {
    if (!token.exists || tenant === undefined) throw refused();
    const scopes = scopesOfUsable(token, this.#clock.now());
    if (tenant.status === 'suspended') throw new DomainError('tenant_suspended', 'The tenant is suspended.');
    this.#uses.note(tenant.id, token.id);
    return {
      kind: 'api_token',
      tenantId: tenant.id,
      rights: { plan: tenant.plan, entitlements: tenant.entitlements },
      tokenId: token.id,
      scopes,
    };
  }
}
