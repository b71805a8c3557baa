import { ApiTokenAuthentication } from '../../application/api-token-authentication.ts';
import { ApiTokens } from '../../application/api-tokens.ts';
import type { TenantTokenClaims } from '../../application/authentication.ts';
import { Extensions } from '../../application/extensions.ts';
import type { TokenFamily } from '../../application/ports/tokens.ts';
import { TestTokens } from '../../application/test-tokens.ts';
import { TokenUses } from '../../application/token-uses.ts';
import { randomTokenSecrets } from '../../infrastructure/identity/token-secrets.ts';
import type { Core } from './core.ts';

/** Credentials that people hand on: API tokens, extensions, test tokens. */
export interface DelegationArea {
  readonly apiTokens: ApiTokens;
  readonly extensions: Extensions;
  readonly testTokens: TestTokens;
  readonly tokenUses: TokenUses;
}

export const composeDelegation = (
  core: Core,
  tokens: Pick<TokenFamily<TenantTokenClaims>, 'sign'>,
): DelegationArea & { readonly apiTokenAuthentication: ApiTokenAuthentication } => {
  const { commands, states, codec, directory, clock, ids, logger, stores } = core;
  const tokenUses = new TokenUses({ commands, clock, ids, logger });
  return {
    apiTokens: new ApiTokens({ commands, secrets: randomTokenSecrets }),
    extensions: new Extensions({ commands, tokens }),
    testTokens: new TestTokens({ commands, tokens }),
    tokenUses,
    apiTokenAuthentication: new ApiTokenAuthentication({
      events: stores.events,
      codec,
      states,
      directory,
      uses: tokenUses,
      clock,
    }),
  };
};
