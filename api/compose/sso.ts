import { createHmac, hkdfSync } from 'node:crypto';
import type { TenantTokenClaims } from '../../application/identity/authentication-claims.ts';
import type { Identity } from '../../application/identity/identity.ts';
import { Sso, type SsoSettings } from '../../application/identity/sso.ts';
import { SsoAccounts } from '../../application/identity/sso-accounts.ts';
import { SsoTransactions } from '../../application/identity/sso-transactions.ts';
import type { TokenFamily } from '../../application/ports/tokens.ts';
import { lazyOpenIdProvider } from '../../infrastructure/identity/lazy-sso-provider.ts';
import type { Core } from './core.ts';
import { providerFetch } from './outbound.ts';

/** Single sign-on. */
export const composeSso = (
  core: Core,
  identity: Identity,
  tenantTokens: TokenFamily<TenantTokenClaims>,
): { readonly sso: Sso; readonly ssoSettings: SsoSettings } => {
  const { streams, directory, keys, emailHash, secrets, clock, config, logger, readModels } = core;
  const loopbackHttp = config.NODE_ENV !== 'production';
  const identityHash = identityHasher(secrets.MASTER_KEY);
  return {
    ssoSettings: { publicUrl: config.PUBLIC_URL, loopbackHttp },
    sso: new Sso({
      directory,
      identity,
      keys,
      provider: lazyOpenIdProvider({ fetch: providerFetch(config), clock, loopbackHttp }),
      transactions: new SsoTransactions(secrets.MASTER_KEY, clock),
      accounts: new SsoAccounts({ streams, directory, emailHash, identityHash }),
      tenantTokens,
      logger,
      answered: (tenantId, position) => readModels.answered(tenantId, position),
    }),
  };
};

/** Keyed hash of issuer and subject. Names the identity's stream without revealing either to readers of the log. */
const identityHasher = (masterKey: string): ((issuer: string, subject: string) => string) => {
  const key = Buffer.from(hkdfSync('sha256', masterKey, '', 'sso-identity-hash', 32));
  return (issuer, subject) =>
    createHmac('sha256', key)
      .update(JSON.stringify([issuer, subject]))
      .digest('hex');
};
