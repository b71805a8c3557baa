import {
  Authentication,
  PLATFORM_TOKEN_SECONDS,
  platformClaims,
  tenantClaims,
  tenantTokenLifetime,
} from '../../application/authentication.ts';
import { Identity } from '../../application/identity.ts';
import { Login } from '../../application/login.ts';
import { Tenancy } from '../../application/tenancy.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import { accountsOf } from '../../projections/users.ts';
import type { Core } from './core.ts';

/** Who is who and what they may: people, tenants, credentials. */
export interface IdentityArea {
  readonly authentication: Authentication;
  readonly identity: Identity;
  readonly login: Login;
  readonly tenancy: Tenancy;
}

export const composeIdentity = (core: Core): IdentityArea => {
  const { commands, directory, passwords, emailHash, secrets, clock, readModels, keys, states, ids } = core;
  const identity = new Identity({ commands, directory, passwords, emailHash });
  const tenantTokens = tokenFamily(secrets.TENANT_JWT_SECRET, tenantClaims, tenantTokenLifetime, clock);
  const platformTokens = tokenFamily(
    secrets.PLATFORM_JWT_SECRET,
    platformClaims,
    () => PLATFORM_TOKEN_SECONDS,
    clock,
  );
  return {
    identity,
    authentication: new Authentication({
      tenantTokens,
      platformTokens,
      directory,
      identity,
      ids,
      answered: (tenantId, position) => readModels.answered(tenantId, position),
    }),
    login: new Login({
      directory,
      identity,
      passwords,
      keys,
      states,
      tenantTokens,
      platformTokens,
      emailHash,
      accountsOf: (hash) => accountsOf(readModels.reader('logins'), hash),
    }),
    tenancy: new Tenancy({ commands, directory, identity }),
  };
};
