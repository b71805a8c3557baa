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
  const deps = { ...core, identity, ssoSettings };
  const appointments = new AdminAppointments(deps);
  const tenancy = new Tenancy({ ...deps, appointments, partners: partnerDirectory });
  return {
    tenancy,
    routes: tenantRoutes({ ...deps, tenancy }),
    subscribers: [firstAdmin(deps)],
  } satisfies Area & Record<string, unknown>;
};
