import { notFound } from '../domain/errors.ts';
import {
  apiTokenDecider,
  type Lifetime,
  type MintedApiToken,
  mintApiToken,
  revokeApiToken,
  TOKEN_MARK,
} from '../domain/identity/api-token.ts';
import type { Scope } from '../domain/identity/scopes.ts';
import { assignPrefix, tokenPrefixDecider } from '../domain/identity/token-prefix.ts';
import { tailHash } from './api-token-authentication.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Position } from './ports/event-store.ts';
import type { TokenSecrets } from './ports/token-secrets.ts';
import type { RequestContext } from './request-context.ts';
import { PLATFORM } from './streams.ts';

export interface NewApiToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly lifetime: Lifetime;
  readonly createdBy: string;
}

/** Use cases on long-lived API tokens (decisions, section 3). */
export class ApiTokens {
  readonly #commands: CommandHandler;
  readonly #secrets: TokenSecrets;

  constructor(deps: { commands: CommandHandler; secrets: TokenSecrets }) {
    this.#commands = deps.commands;
    this.#secrets = deps.secrets;
  }

  /**
   * Prefix first, then the token: a crash in between leaves a prefix that leads to nothing.
   * @returns `secret`, the whole token, unless an earlier try of the same keyed request has minted it: what was
   * not kept cannot be shown again
   */
  async mint(
    tenantId: string,
    token: NewApiToken,
    context: RequestContext,
  ): Promise<{ token: MintedApiToken; secret: string | undefined; position: Position | undefined }> {
    const tokenId = context.newId();
    const [prefix, tail] = [this.#secrets.prefix(), this.#secrets.tail()];
    const secretHash = tailHash(tail);
    await this.#commands.execute({
      tenantId: PLATFORM,
      decider: tokenPrefixDecider,
      id: prefix,
      cause: context.cause,
      decide: (state) => assignPrefix(state, prefix, { tenantId, tokenId }),
    });
    const outcome = await this.#commands.execute({
      tenantId,
      decider: apiTokenDecider,
      id: tokenId,
      cause: context.cause,
      again: context.again,
      decide: (state, at) =>
        mintApiToken(
          state,
          {
            tokenId,
            name: token.name,
            prefix,
            secretHash,
            scopes: token.scopes,
            lifetime: token.lifetime,
            createdBy: token.createdBy,
          },
          at,
        ),
    });
    if (!outcome.state.exists) throw notFound();
    const own = outcome.state.prefix === prefix && outcome.state.secretHash === secretHash;
    return {
      token: outcome.state,
      secret: own ? `${TOKEN_MARK}${prefix}${tail}` : undefined,
      position: outcome.position,
    };
  }

  /** Revoking again changes nothing. @throws `not_found` */
  async revoke(
    tenantId: string,
    tokenId: string,
    context: RequestContext,
  ): Promise<{ token: MintedApiToken; position: Position | undefined }> {
    const { state, position } = await this.#commands.execute({
      tenantId,
      decider: apiTokenDecider,
      id: tokenId,
      cause: context.cause,
      again: context.again,
      decide: revokeApiToken,
    });
    if (!state.exists) throw notFound();
    return { token: state, position };
  }
}
