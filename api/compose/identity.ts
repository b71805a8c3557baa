import { eraser } from '../../application/core/privacy/eraser.ts';
import { adminWithdrawal } from '../../application/identity/admin-withdrawals.ts';
import { ApiTokenAuthentication } from '../../application/identity/api-token-authentication.ts';
import { ApiTokens } from '../../application/identity/api-tokens.ts';
import { Authentication } from '../../application/identity/authentication.ts';
import {
  PLATFORM_TOKEN_SECONDS,
  platformClaims,
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../application/identity/authentication-claims.ts';
import { emailClaimer, emailReleaser } from '../../application/identity/email-claims.ts';
import { Forgetting } from '../../application/identity/forgetting.ts';
import { Identity } from '../../application/identity/identity.ts';
import { Impersonation } from '../../application/identity/impersonation.ts';
import { Login } from '../../application/identity/login.ts';
import { PasswordChanges } from '../../application/identity/password-changes.ts';
import { Sso, type SsoSettings } from '../../application/identity/sso.ts';
import { SsoAccounts } from '../../application/identity/sso-accounts.ts';
import { SsoTransactions } from '../../application/identity/sso-transactions.ts';
import { TokenUses } from '../../application/identity/token-uses.ts';
import type { Position } from '../../application/ports/event-store.ts';
import { lazyOpenIdProvider } from '../../infrastructure/identity/lazy-sso-provider.ts';
import { randomTokenSecrets } from '../../infrastructure/identity/token-secrets.ts';
import { accountsOf, adminsByCreation } from '../../projections/identity/users.ts';
import { apiTokenRoutes } from '../routes/identity/api-tokens.ts';
import { authRoutes } from '../routes/identity/auth.ts';
import { impersonationRoutes } from '../routes/identity/impersonation.ts';
import { passwordRoutes } from '../routes/identity/passwords.ts';
import { ssoRoutes } from '../routes/identity/sso.ts';
import { userRoutes } from '../routes/identity/users.ts';
import type { Area } from './area.ts';
import { type Core, keyedHash, tokensOf } from './core.ts';
import { providerFetch } from './outbound.ts';
import type { PartnersArea } from './partners.ts';

/** People and credentials: accounts, sign-in, tokens, impersonation, forgetting. */
export const composeIdentity = (core: Core, { partnerAuthentication }: PartnersArea) => {
  const { secrets, clock, config, readModels } = core;
  const answered = (tenantId: string, position: Position): void => readModels.answered(tenantId, position);
  const identity = new Identity(core);
  const tenantTokens = tokensOf(core, 'TENANT_JWT_SECRET', tenantTokenClaims, tenantTokenLifetime);
  const platformTokens = tokensOf(core, 'PLATFORM_JWT_SECRET', platformClaims, () => PLATFORM_TOKEN_SECONDS);
  const tokenUses = new TokenUses(core);
  const base = { ...core, identity, tenantTokens, platformTokens, answered };
  const authentication = new Authentication({
    ...base,
    apiTokens: new ApiTokenAuthentication({ ...core, uses: tokenUses }),
    partner: (token) => partnerAuthentication.authenticate(token),
  });
  const login = new Login({
    ...base,
    accountsOf: (hash) => accountsOf(readModels.reader('logins'), hash),
  });
  const impersonation = new Impersonation({
    ...base,
    adminsByCreation: (tenantId) => adminsByCreation(readModels.reader('users'), tenantId),
  });
  const loopbackHttp = config.NODE_ENV !== 'production';
  const ssoSettings: SsoSettings = { publicUrl: config.PUBLIC_URL, loopbackHttp };
  const identityHash = keyedHash(secrets.MASTER_KEY, 'sso-identity-hash');
  const sso = new Sso({
    ...base,
    provider: lazyOpenIdProvider({ fetch: providerFetch(config), clock, loopbackHttp }),
    transactions: new SsoTransactions(secrets.MASTER_KEY, clock),
    accounts: new SsoAccounts({
      ...core,
      identityHash: (issuer, subject) => identityHash(JSON.stringify([issuer, subject])),
    }),
  });
  const apiTokens = new ApiTokens({ ...base, secrets: randomTokenSecrets });
  const deps = {
    ...base,
    login,
    impersonation,
    sso,
    ssoSettings,
    apiTokens,
    passwordChanges: new PasswordChanges({ ...base, secrets: randomTokenSecrets }),
    forgetting: new Forgetting(core),
  };
  return {
    identity,
    authentication,
    impersonation,
    apiTokens,
    tenantTokens,
    ssoSettings,
    routes: [
      ...authRoutes(deps),
      ...ssoRoutes(deps),
      ...impersonationRoutes(deps),
      ...userRoutes(deps),
      ...passwordRoutes(deps),
      ...apiTokenRoutes(deps),
    ],
    subscribers: [eraser(core), emailClaimer(core), emailReleaser(core), adminWithdrawal(core)],
    stop: () => tokenUses.close(),
  } satisfies Area & Record<string, unknown>;
};

export type IdentityArea = ReturnType<typeof composeIdentity>;
