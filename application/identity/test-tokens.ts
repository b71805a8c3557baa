import { generateTestToken, testTokenStream } from '../../domain/identity/test-token.ts';
import type { Written } from '../core/commands/command.ts';
import type { UserPrincipal } from '../core/commands/principal.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { TokenFamily } from '../ports/tokens.ts';
import { issuedAt, SHORT_TOKEN_SECONDS, type TenantClaims } from './authentication-claims.ts';

/** Mints one-hour test tokens (specification, Authentication 7). */
export class TestTokens extends WithDeps<{
  streams: Streams;
  tokens: Pick<TokenFamily<TenantClaims>, 'sign'>;
}> {
  /**
   * Mints a token after its event is on disk. `iat` is the time of that event, so that a repeated request has one event
   * and one token.
   */
  async mint(person: UserPrincipal, context: RequestContext): Promise<Written<{ token: string }>> {
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
    return { token: this.deps.tokens.sign(claims, SHORT_TOKEN_SECONDS, issuedAt(events)), position };
  }
}
