import { AdminAppointments } from '../../application/identity/admin-appointments.ts';
import { firstAdmin } from '../../application/identity/first-admin.ts';
import { Tenancy } from '../../application/tenancy/tenancy.ts';
import { tenantRoutes } from '../routes/tenancy/tenants.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import type { IdentityArea } from './identity.ts';
import type { PartnersArea } from './partners.ts';

/** Tenants, their plans and their first admins. */
export const composeTenancy = (
  core: Core,
  { identity, ssoSettings }: IdentityArea,
  { partnerDirectory }: PartnersArea,
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
