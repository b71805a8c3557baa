import {
  Authentication,
  PLATFORM_TOKEN_SECONDS,
  platformClaims,
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../application/authentication.ts';
import { EventLog } from '../../application/event-log.ts';
import { Forgetting } from '../../application/forgetting.ts';
import { Identity } from '../../application/identity.ts';
import { Impersonation } from '../../application/impersonation.ts';
import { Login } from '../../application/login.ts';
import { Tenancy } from '../../application/tenancy.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { signingSecrets } from '../../infrastructure/development-secrets.ts';
import { tokenFamily } from '../../infrastructure/identity/tokens.ts';
import { accountsOf, oldestAdmins } from '../../projections/users.ts';
import type { Core } from './core.ts';
import { composeDelegation, type DelegationArea } from './delegation.ts';
import { composePartners, type PartnerArea } from './partners.ts';

/** Who is who and what they may: people, tenants, credentials. */
export interface IdentityArea extends PartnerArea, DelegationArea {
  readonly authentication: Authentication;
  readonly identity: Identity;
  readonly forgetting: Forgetting;
  readonly login: Login;
  readonly tenancy: Tenancy;
  readonly impersonation: Impersonation;
  readonly eventLog: EventLog;
}

export const composeIdentity = (core: Core): IdentityArea => {
  const { commands, directory, passwords, emailHash, secrets, clock, readModels, keys, states, ids } = core;
  const identity = new Identity({ commands, directory, passwords, emailHash });
  const tenantTokens = tokenFamily(
    signingSecrets(secrets, 'TENANT_JWT_SECRET'),
    tenantTokenClaims,
    tenantTokenLifetime,
    clock,
  );
  const platformTokens = tokenFamily(
    signingSecrets(secrets, 'PLATFORM_JWT_SECRET'),
    platformClaims,
    () => PLATFORM_TOKEN_SECONDS,
    clock,
  );
  const partners = composePartners(core);
  const { apiTokenAuthentication, ...delegation } = composeDelegation(core, tenantTokens);
  return {
    ...partners,
    ...delegation,
    identity,
    forgetting: new Forgetting({ commands, directory, keys, erasures: core.erasures, emailHash }),
    authentication: new Authentication({
      tenantTokens,
      platformTokens,
      apiTokens: apiTokenAuthentication,
      directory,
      identity,
      ids,
      partner: (token) => partners.partnerAuthentication.authenticate(token),
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
    tenancy: new Tenancy({
      commands,
      directory,
      identity,
      partners: partners.partnerDirectory,
      passwords,
      keys,
    }),
    impersonation: new Impersonation({
      commands,
      directory,
      tenantTokens,
      clock,
      oldestAdmins: (tenantId) => oldestAdmins(readModels.reader('users'), tenantId),
    }),
    eventLog: new EventLog({
      events: core.stores.events,
      directory,
      types: catalogue.map(({ type }) => type),
    }),
  };
};
