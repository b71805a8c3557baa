import { createHmac, hkdfSync } from 'node:crypto';
import { tenantTokenLifetime } from '../../application/identity/authentication.ts';
import { tenantClaims } from '../../application/identity/authentication-claims.ts';
import type { Identity } from '../../application/identity/identity.ts';
import { Sso, type SsoSettings } from '../../application/identity/sso.ts';
import { SsoAccounts } from '../../application/identity/sso-accounts.ts';
import { SsoTransactions } from '../../application/identity/sso-transactions.ts';
import { signingSecrets } from '../../infrastructure/development-secrets.ts';
import { lazyOpenIdProvider } from '../../infrastructure/identity/lazy-sso-provider.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import type { Core } from './core.ts';
import { providerFetch } from './outbound.ts';

/** Single sign-on. */
export const composeSso = (
  core: Core,
  identity: Identity,
): { readonly sso: Sso; readonly ssoSettings: SsoSettings } => {
  const { streams, directory, keys, emailHash, secrets, clock, config, ids, logger, readModels } = core;
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
      tokens: tokenFamily(
        signingSecrets(secrets, 'TENANT_JWT_SECRET'),
        tenantClaims,
        tenantTokenLifetime,
        clock,
      ),
      ids,
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
