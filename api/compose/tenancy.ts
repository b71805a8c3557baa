import { AdminAppointments } from '../../application/identity/admin-appointments.ts';
import { firstAdmin } from '../../application/identity/first-admin.ts';
import type { Identity } from '../../application/identity/identity.ts';
import type { SsoSettings } from '../../application/identity/sso.ts';
import type { PartnerDirectory } from '../../application/partners/partner-directory.ts';
import { Tenancy } from '../../application/tenancy/tenancy.ts';
import { tenantRoutes } from '../routes/tenancy/tenants.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Tenants, their plans and their first admins. */
export const composeTenancy = (
  core: Core,
  { identity, ssoSettings }: { readonly identity: Identity; readonly ssoSettings: SsoSettings },
  { partnerDirectory }: { readonly partnerDirectory: PartnerDirectory },
) => {
  const { streams, directory, passwords, keys, readModels, emailHash } = core;
  const appointments = new AdminAppointments({ streams, directory, identity, passwords, emailHash });
  const tenancy = new Tenancy({
    streams,
    directory,
    identity,
    appointments,
    partners: partnerDirectory,
    passwords,
    keys,
  });
  return {
    tenancy,
    routes: tenantRoutes({ tenancy, readModels, ssoSettings }),
    subscribers: [firstAdmin({ identity, directory, keys })],
  } satisfies Area & Record<string, unknown>;
};
