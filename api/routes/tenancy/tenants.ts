import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import { APPOINTMENTS } from '../../../application/identity/admin-appointments.ts';
import type { SsoSettings } from '../../../application/identity/sso.ts';
import type { Tenancy } from '../../../application/tenancy/tenancy.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { isCurrency } from '../../../domain/ledger/money.ts';
import { isIssuer, isReturnOrigin, MAX_RETURN_ORIGINS } from '../../../domain/tenancy/sso.ts';
import { type ExistingTenant, isTenantId, PLANS, settingsOf } from '../../../domain/tenancy/tenant.ts';
import { allTenants } from '../../../projections/tenancy/tenants.ts';
import type { Route } from '../../http/route.ts';
import { text, timestamp } from '../../http/schemas.ts';
import { displayName, emailAddress, password, userView } from '../identity/users.ts';
import { creation, listReply, ok, one, pagedList } from '../replies.ts';
import { bothPaths, platformRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly readModels: ReadModels;
  readonly ssoSettings: SsoSettings;
  readonly tenancy: Tenancy;
}

const timezone = z.string().refine((zone) => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}, 'This is not a time zone.');
const currency = z.string().refine(isCurrency, 'This is not an ISO 4217 currency code.');
const partnerId = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,39}$/, 'This is not a partner id.')
  .nullable();
const entitlements = z.object({ ledger: z.boolean().optional(), assistant: z.boolean().optional() });

const tenantView = z
  .object({
    id: z.string(),
    name: z.string(),
    plan: z.enum(PLANS),
    partner_id: z.string().nullable(),
    entitlements: z.object({ ledger: z.boolean(), assistant: z.boolean() }),
    currency: z.string(),
    timezone: z.string(),
    status: z.enum(['active', 'suspended']),
    created_at: timestamp,
    sso: z
      .object({ issuer: z.string(), client_id: z.string(), return_origins: z.array(z.string()) })
      .nullable(),
  })
  .meta({ id: 'Tenant' });

/** @param loopbackHttp accepts providers on this machine by plain http */
const ssoOf = (loopbackHttp: boolean) =>
  z
    .object({
      issuer: z
        .string()
        .max(1_000)
        .refine(
          (issuer) => isIssuer(issuer, loopbackHttp),
          'The issuer must be an https URL in its usual spelling, without user info, query and fragment.',
        ),
      client_id: text({ max: 500 }),
      client_secret: text({ max: 1_000 }).optional().meta({
        description: 'Never shown again. If left out, the current secret of the same client stays.',
      }),
      return_origins: listOf(
        z
          .string()
          .max(500)
          .refine(isReturnOrigin, 'This is not an exact origin such as https://app.example.'),
        { max: MAX_RETURN_ORIGINS },
      ),
    })
    .nullable()
    .optional();

const admin = z.object({ email: emailAddress, password, display_name: displayName });

const newTenant = z.object({
  id: z
    .string()
    .refine(isTenantId, 'A tenant id has lower-case letters, digits and _, and begins with a letter.'),
  name: text({ max: 200 }),
  plan: z.enum(PLANS).default('free'),
  partner_id: partnerId.optional(),
  entitlements: entitlements.optional(),
  currency: currency.default('EUR'),
  timezone: timezone.default('UTC'),
  status: z.enum(['active', 'suspended']).default('active'),
  admin: admin.optional(),
});

const tenantChange = z.object({
  name: text({ max: 200 }).optional(),
  plan: z.enum(PLANS).optional(),
  partner_id: partnerId.optional(),
  entitlements: entitlements.optional(),
  currency: currency.optional(),
  timezone: timezone.optional(),
  status: z.enum(['active', 'suspended']).optional(),
  admin: admin.optional().meta({
    description:
      'The admin to appoint: a new user, or the user with this e-mail, who gets the role, this name and this password.',
  }),
});

const changedTenantView = tenantView
  .extend({
    admin: userView
      .extend({ changes: z.array(z.enum(APPOINTMENTS)) })
      .optional()
      .meta({ description: 'Present if an admin was appointed.' }),
  })
  .meta({ id: 'ChangedTenant' });

const tenantParams = z.object({ id: z.string().refine(isTenantId) });

const ssoView = ({ issuer, clientId, returnOrigins }: NonNullable<ExistingTenant['sso']>) => ({
  issuer,
  client_id: clientId,
  return_origins: returnOrigins,
});

const viewOf = (tenant: ExistingTenant) => ({
  id: tenant.id,
  ...settingsOf(tenant),
  status: tenant.status,
  created_at: iso(tenant.createdAt),
  sso: tenant.sso === undefined ? null : ssoView(tenant.sso),
});

/** Tenants, for platform admins (decisions, section 3, Platform). */
export const tenantRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('tenants');
  const sso = ssoOf(deps.ssoSettings.loopbackHttp);
  return tagged('Platform', [
    platformRoute({
      ...creation(tenantView, newTenant.extend({ sso })),
      ...bothPaths('/super/tenants'),
      operationId: 'createTenant',
      summary: 'Create a tenant, with its first admin if given',
      description:
        'The id is a slug that never changes. With `admin` the tenant gets its first account, which can ' +
        'sign in at once.',
      errors: ['already_exists', 'constraint_violated'],
      handle: async ({ body, context }) => {
        const { tenant, position } = await deps.tenancy.create(body, context);
        // Lets the tenant's first admin read these writes, which no request of the tenant made.
        if (position !== undefined) deps.readModels.answered(tenant.id, position);
        return { status: 201, body: viewOf(tenant), position };
      },
    }),

    platformRoute({
      ...pagedList(tenantView),
      ...bothPaths('/super/tenants'),
      operationId: 'listTenants',
      summary: 'All tenants, oldest first',
      description: 'All tenants of the platform with plan, entitlements and status.',
      reads: ['tenants'],
      handle: ({ query }) => listReply(query, (page) => allTenants(reader, page)),
    }),

    platformRoute({
      ...one('get', tenantView, tenantParams),
      ...bothPaths('/super/tenants/:id'),
      operationId: 'getTenant',
      summary: 'One tenant',
      description: 'The settings of a tenant as a platform admin sees them.',
      handle: async ({ params }) => ok(viewOf(await deps.tenancy.get(params.id))),
    }),

    platformRoute({
      ...one('patch', changedTenantView, tenantParams),
      ...bothPaths('/super/tenants/:id'),
      operationId: 'changeTenant',
      summary: 'Change, suspend or reactivate a tenant, or appoint an admin; entitlements merge',
      description:
        'Send the fields that change; `entitlements` are merged. A suspended tenant is refused with 403 ' +
        '`tenant_suspended` until it is active again.',
      body: tenantChange.extend({ sso }),
      errors: ['constraint_violated', 'already_exists', 'invalid_transition'],
      handle: async ({ params, body, context }) => {
        const { tenant, admin: appointed, position } = await deps.tenancy.change(params.id, body, context);
        if (appointed === undefined) return { status: 200, body: viewOf(tenant), position };
        // Lets the appointed admin read these writes, which no request of the tenant made.
        if (position !== undefined) deps.readModels.answered(tenant.id, position);
        return {
          status: 200,
          body: { ...viewOf(tenant), admin: { ...appointed.user, changes: [...appointed.changes] } },
          position,
          personal: [personKeyId(tenant.id, appointed.user.id)],
        };
      },
    }),
  ]);
};
