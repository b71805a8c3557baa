import { byCreatedAt, platformCollection } from '../../domain/core/collection.ts';
import { defined } from '../../domain/core/event.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { SsoSettings } from '../../domain/tenancy/sso.ts';
import { settingsOf, type TenantEvent, type TenantSettings } from '../../domain/tenancy/tenant.ts';

/** The platform's tenants (decisions, section 3, Platform), stored under the platform like their streams. */

interface TenantDoc extends TenantSettings {
  readonly id: string;
  readonly status: 'active' | 'suspended';
  readonly created_at: string;
  readonly sso: Pick<SsoSettings, 'issuer' | 'client_id' | 'return_origins'> | null;
}

const tenants = platformCollection<TenantDoc>('tenants');

export const tenantsProjection = projection<TenantEvent>({
  name: 'tenants',
  version: 4,
  collections: [{ name: 'tenants', indexes: [byCreatedAt] }],
  on: {
    TenantCreated: ({ data, at }) => [
      tenants.put(data.tenant_id, {
        id: data.tenant_id,
        ...settingsOf(data),
        status: 'active',
        created_at: iso(at),
        sso: null,
      }),
    ],
    TenantChanged: ({ data: { tenant_id, ...values } }) => [tenants.merge(tenant_id, defined(values))],
    TenantStatusChanged: ({ data }) => [tenants.merge(data.tenant_id, { status: data.status })],
    TenantSsoConfigured: ({ data }) => [
      tenants.merge(data.tenant_id, {
        sso: { issuer: data.issuer, client_id: data.client_id, return_origins: data.return_origins },
      }),
    ],
    TenantSsoRemoved: ({ data }) => [tenants.merge(data.tenant_id, { sso: null })],
  },
});

// Queries

/** All tenants, oldest first. */
export const allTenants = tenants.list('by_created_at', 'asc');
