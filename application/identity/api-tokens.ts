import { existing } from '../../domain/core/errors.ts';
import {
  apiTokenStream,
  type Lifetime,
  type MintedApiToken,
  mintApiToken,
  revokeApiToken,
  TOKEN_MARK,
} from '../../domain/identity/api-token.ts';
import type { Scope } from '../../domain/identity/scopes.ts';
import { assignPrefix, tokenPrefixStream } from '../../domain/identity/token-prefix.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { PLATFORM } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { TokenSecrets } from '../ports/token-secrets.ts';
import { tailHash } from './api-token-authentication.ts';

export interface NewApiToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly lifetime: Lifetime;
  readonly createdBy: string;
}

/** Use cases on long-lived API tokens (decisions, section 3). */
export class ApiTokens extends WithDeps<{ streams: Streams; secrets: TokenSecrets }> {
  /**
   * Assigns the prefix, then mints the token; a crash in between leaves an unused prefix.
   * @returns `secret`, the whole token, unless an earlier try of the same keyed request minted it: secrets are not
   * stored
   */
  async mint(
    tenantId: string,
    token: NewApiToken,
    context: RequestContext,
  ): Promise<Written<{ token: MintedApiToken; secret: string | undefined }>> {
    const tokenId = context.newId();
    const [prefix, tail] = [this.deps.secrets.prefix(), this.deps.secrets.randomText()];
    const secretHash = tailHash(tail);
    await this.deps.streams
      .of(tokenPrefixStream, PLATFORM, prefix)
      .execute({ cause: context.cause }, (state) => assignPrefix(state, prefix, { tenantId, tokenId }));
    const outcome = await this.deps.streams
      .of(apiTokenStream, tenantId, tokenId)
      .execute(context, (state, at) =>
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
      );
    const minted = existing(outcome.state);
    const own = minted.prefix === prefix && minted.secretHash === secretHash;
    return {
      token: minted,
      secret: own ? `${TOKEN_MARK}${prefix}${tail}` : undefined,
      position: outcome.position,
    };
  }

  /** Has no effect on a revoked token. @throws `not_found` */
  async revoke(
    tenantId: string,
    tokenId: string,
    context: RequestContext,
  ): Promise<Written<{ token: MintedApiToken }>> {
    const { state, position } = await this.deps.streams
      .of(apiTokenStream, tenantId, tokenId)
      .execute(context, revokeApiToken);
    return { token: existing(state), position };
  }
}
