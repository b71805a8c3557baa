import { z } from 'zod';
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
const currency = z.string().regex(/^[A-Z]{3}$/, 'This is not an ISO 4217 currency code.');
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
  })
  .meta({ id: 'Tenant' });

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
});

export const tenantRoutes = (app: App): Route[] => {
  const reader = app.readModels.reader('tenants');
  return [
    platformRoute({
      method: 'post',
      ...prefixed('/super/tenants'),
      operationId: 'createTenant',
      summary: 'Create a tenant, with its first admin if given',
      tag: TAG,
      body: newTenant,
      responses: { 201: tenantView },
      errors: ['already_exists'],
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
      body: tenantChange,
      responses: { 200: tenantView },
      errors: ['not_found'],
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
