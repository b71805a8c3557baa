import { z } from 'zod';
import { isCurrency } from '../../domain/ledger/money.ts';
import { isIssuer, isReturnOrigin, MAX_RETURN_ORIGINS } from '../../domain/tenancy/sso.ts';
import { type ExistingTenant, isTenantId, PLANS } from '../../domain/tenancy/tenant.ts';
import { allTenants, type TenantDoc } from '../../projections/tenants.ts';
import { decodeCursor, nextPage } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { cursor, limit, text, timestamp } from '../http/schemas.ts';
import { type App, contextOf } from './app.ts';
import { platformRoute } from './kinds.ts';
import { displayName, emailAddress, password } from './users.ts';

/** What platform admins do: tenants and read models (decisions, section 3, Platform). */

const TAG = 'Platform';
const READS = ['tenants'];

const prefixed = (path: string) => ({ path, aliases: [`/api/v1${path}`] });

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

/** @param loopbackHttp providers by plain http on this machine are taken */
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
      client_secret: text({ max: 1_000 })
        .optional()
        .meta({ description: 'Never shown again. Left out: the present one, of the same client, stays.' }),
      return_origins: z
        .array(
          z
            .string()
            .max(500)
            .refine(isReturnOrigin, 'This is not an exact origin such as https://app.example.'),
        )
        .max(MAX_RETURN_ORIGINS),
    })
    .nullable()
    .optional();

const newTenant = z.object({
  id: z
    .string()
    .refine(isTenantId, 'A tenant id is lower-case letters, digits and _, and begins with a letter.'),
  name: text({ max: 200 }),
  plan: z.enum(PLANS).default('free'),
  partner_id: partnerId.optional(),
  entitlements: entitlements.optional(),
  currency: currency.default('EUR'),
  timezone: timezone.default('UTC'),
  status: z.enum(['active', 'suspended']).default('active'),
  admin: z.object({ email: emailAddress, password, display_name: displayName }).optional(),
});

const tenantChange = z.object({
  name: text({ max: 200 }).optional(),
  plan: z.enum(PLANS).optional(),
  partner_id: partnerId.optional(),
  entitlements: entitlements.optional(),
  currency: currency.optional(),
  timezone: timezone.optional(),
  status: z.enum(['active', 'suspended']).optional(),
});

const tenantParams = z.object({ id: z.string().refine(isTenantId) });

const viewOf = (tenant: ExistingTenant) => ({
  id: tenant.id,
  name: tenant.name,
  plan: tenant.plan,
  partner_id: tenant.partner_id,
  entitlements: tenant.entitlements,
  currency: tenant.currency,
  timezone: tenant.timezone,
  status: tenant.status,
  created_at: new Date(tenant.createdAt).toISOString(),
  sso:
    tenant.sso === undefined
      ? null
      : {
          issuer: tenant.sso.issuer,
          client_id: tenant.sso.clientId,
          return_origins: tenant.sso.returnOrigins,
        },
});

export const tenantRoutes = (app: App): Route[] => {
  const reader = app.readModels.reader('tenants');
  const sso = ssoOf(app.ssoSettings.loopbackHttp);
  return [
    platformRoute({
      method: 'post',
      ...prefixed('/super/tenants'),
      operationId: 'createTenant',
      summary: 'Create a tenant, with its first admin if given',
      tag: TAG,
      body: newTenant.extend({ sso }),
      responses: { 201: tenantView },
      errors: ['already_exists', 'constraint_violated'],
      handle: async (request) => {
        const { tenant, position } = await app.tenancy.create(request.body, contextOf(app, request));
        // The tenant's first admin reads what was written here, though no request of the tenant wrote it.
        if (position !== undefined) app.readModels.answered(tenant.id, position);
        return { status: 201, body: viewOf(tenant), position };
      },
    }),

    platformRoute({
      method: 'get',
      ...prefixed('/super/tenants'),
      operationId: 'listTenants',
      summary: 'All tenants, oldest first',
      tag: TAG,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(tenantView) },
      reads: READS,
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await allTenants(reader, { limit: request.query.limit, after });
        const body: readonly TenantDoc[] = page.docs;
        return { status: 200, body, next: nextPage(page.next) };
      },
    }),

    platformRoute({
      method: 'get',
      ...prefixed('/super/tenants/:id'),
      operationId: 'getTenant',
      summary: 'One tenant',
      tag: TAG,
      params: tenantParams,
      responses: { 200: tenantView },
      errors: ['not_found'],
      handle: async (request) => ({ status: 200, body: viewOf(await app.tenancy.get(request.params.id)) }),
    }),

    platformRoute({
      method: 'patch',
      ...prefixed('/super/tenants/:id'),
      operationId: 'changeTenant',
      summary: 'Change, suspend or reactivate a tenant; entitlements merge',
      tag: TAG,
      params: tenantParams,
      body: tenantChange.extend({ sso }),
      responses: { 200: tenantView },
      errors: ['not_found', 'constraint_violated'],
      handle: async (request) => {
        const changed = await app.tenancy.change(request.params.id, request.body, contextOf(app, request));
        return { status: 200, body: viewOf(changed.tenant), position: changed.position };
      },
    }),
  ];
};

const projectionView = z
  .object({
    name: z.string(),
    generation: z.string(),
    state: z.enum(['active', 'building']),
    checkpoint: z.string().optional(),
    parked: z.array(
      z.object({
        tenant: z.string(),
        event_id: z.string(),
        error: z.string(),
        since: z.string(),
        attempts: z.int(),
      }),
    ),
  })
  .meta({ id: 'Projection' });

const projectionParams = z.object({ name: z.string().max(100) });

export const projectionRoutes = (app: App): Route[] => [
  platformRoute({
    method: 'get',
    ...prefixed('/super/projections'),
    operationId: 'listProjections',
    summary: 'Read models: generations, how far they have folded, tenants that a poison event stopped',
    tag: TAG,
    responses: { 200: z.array(projectionView) },
    handle: async () => ({ status: 200, body: await app.operations.projections() }),
  }),

  platformRoute({
    method: 'post',
    ...prefixed('/super/projections/:name/retry'),
    operationId: 'retryProjection',
    summary: 'Take a parked tenant up again',
    tag: TAG,
    params: projectionParams,
    body: z.object({ tenant: z.string().max(64) }),
    responses: { 202: z.object({ projection: z.string(), tenant: z.string() }) },
    errors: ['not_found'],
    handle: async (request) => {
      const { name } = request.params;
      const { tenant } = request.body;
      const position = await app.operations.retry(name, tenant, contextOf(app, request));
      return { status: 202, body: { projection: name, tenant }, position };
    },
  }),

  platformRoute({
    method: 'post',
    ...prefixed('/super/projections/:name/rebuild'),
    operationId: 'rebuildProjection',
    summary: 'Build a read model anew beside the one that answers; it takes over when it has caught up',
    tag: TAG,
    params: projectionParams,
    responses: { 202: z.object({ projection: z.string(), generation: z.string() }) },
    errors: ['not_found'],
    handle: async (request) => {
      const { name } = request.params;
      return { status: 202, body: { projection: name, generation: await app.operations.rebuild(name) } };
    },
  }),
];
