import { generateTestToken, testTokenDecider } from '../domain/identity/test-token.ts';
import { issuedAt, SHORT_TOKEN_SECONDS, type TenantClaims } from './authentication-claims.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Position } from './ports/event-store.ts';
import type { TokenFamily } from './ports/tokens.ts';
import type { UserPrincipal } from './principal.ts';
import type { RequestContext } from './request-context.ts';

/** Mints one-hour test tokens (specification, Authentication 7). */
export class TestTokens {
  readonly #commands: CommandHandler;
  readonly #tokens: Pick<TokenFamily<TenantClaims>, 'sign'>;

  constructor(deps: { commands: CommandHandler; tokens: Pick<TokenFamily<TenantClaims>, 'sign'> }) {
    this.#commands = deps.commands;
    this.#tokens = deps.tokens;
  }

  /**
   * The audit event is on disk before there is a token. The token begins with it: a request that was tried twice, at
   * whatever nodes, has one event and one token.
   */
  async mint(
    person: UserPrincipal,
    context: RequestContext,
  ): Promise<{ token: string; position: Position | undefined }> {
    const { tenantId, userId, email, role, impersonatedBy } = person;
    const { events, position } = await this.#commands.execute({
      tenantId,
      decider: testTokenDecider,
      id: userId,
      cause: context.cause,
      again: context.again,
      decide: () => generateTestToken(tenantId, userId),
    });
    const claims: TenantClaims = {
      sub: userId,
      email,
      tenant_id: tenantId,
      role,
      token_use: 'api_test',
      ...(impersonatedBy === undefined ? {} : { impersonated_by: impersonatedBy }),
    };
    return { token: this.#tokens.sign(claims, SHORT_TOKEN_SECONDS, issuedAt(events)), position };
  }
}
