import { existing } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import {
  apiTokenStream,
  assignPrefix,
  type MintApiToken,
  type MintedApiToken,
  mintApiToken,
  revokeApiToken,
  TOKEN_MARK,
  tokenPrefixStream,
} from '../../domain/identity/api-token.ts';
import { generateTestToken, testTokenStream } from '../../domain/identity/test-token.ts';
import type { Written } from '../core/commands/command.ts';
import type { UserPrincipal } from '../core/commands/principal.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { TokenSecrets } from '../ports/token-secrets.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import { tailHash } from './api-token-authentication.ts';
import { issuedAt, SHORT_TOKEN_SECONDS, type TenantClaims } from './authentication-claims.ts';

/** Use cases on long-lived API tokens and test tokens (decisions, section 3). */
export class ApiTokens extends WithDeps<{
  readonly streams: Streams;
  readonly secrets: TokenSecrets;
  readonly tenantTokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
}> {
  /**
   * Assigns the prefix, then mints the token; a crash in between leaves an unused prefix.
   * @returns `secret` is the whole token; undefined if an earlier try of the same keyed request minted the token, since
   * secrets are not stored
   */
  async mint(
    tenantId: string,
    token: Pick<MintApiToken, 'name' | 'scopes' | 'lifetime' | 'createdBy'>,
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
      .execute(context, (state, at) => mintApiToken(state, { ...token, tokenId, prefix, secretHash }, at));
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
  /**
   * Mints a one-hour test token (specification, Authentication 7) after its event is on disk. `iat` is the time of that
   * event, so that a repeated request gets the same token from the same event.
   */
  async mintTest(person: UserPrincipal, context: RequestContext): Promise<Written<{ token: string }>> {
    const { tenantId, userId, email, role, impersonatedBy } = person;
    const { events, position } = await this.deps.streams
      .of(testTokenStream, tenantId, userId)
      .execute(context, () => generateTestToken(tenantId, userId));
    const claims: TenantClaims = {
      sub: userId,
      email,
      tenant_id: tenantId,
      role,
      token_use: 'api_test',
      ...(impersonatedBy === undefined ? {} : { impersonated_by: impersonatedBy }),
    };
    const token = this.deps.tenantTokens.sign(claims, SHORT_TOKEN_SECONDS, issuedAt(events));
    return { token, position };
  }
}
