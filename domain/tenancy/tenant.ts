import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defined, defineEvent, type EventOf } from '../core/event.ts';
import { PLATFORM } from '../core/platform.ts';
import { type Changes, changedMembers, folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { ssoEvents, ssoOf, type TenantSso } from './sso.ts';

/** A tenant of the platform (decisions, section 3, Platform), in the platform's streams. */

export const PLANS = ['free', 'hobby', 'pro', 'business', 'enterprise'] as const;
export type Plan = (typeof PLANS)[number];

// Events

const settings = z.object({
  name: z.string(),
  plan: z.enum(PLANS),
  partner_id: z.string().nullable(),
  entitlements: z.object({ ledger: z.boolean(), assistant: z.boolean() }),
  currency: z.string(),
  timezone: z.string(),
});

const firstAdmin = { kind: 'first_admin', id: 'tenant_id' } as const;

/**
 * Holds the first admin's data, so that registration can be finished after a crash. A separate key seals this data,
 * and is destroyed once the admin is registered: from then on only the person's own key seals personal data.
 */
export const TenantCreated = defineEvent(
  'TenantCreated',
  settings.extend({
    tenant_id: z.string(),
    admin_id: z.string().optional(),
    admin_email: z.string().optional(),
    admin_display_name: z.string().optional(),
    admin_password_hash: z.string().optional(),
  }),
  {
    personal: {
      admin_email: firstAdmin,
      admin_display_name: firstAdmin,
      admin_password_hash: firstAdmin,
    },
    secret: ['admin_password_hash'],
  },
);
export const TenantChanged = defineEvent(
  'TenantChanged',
  settings.partial().extend({ tenant_id: z.string() }),
);
export const TenantStatusChanged = defineEvent(
  'TenantStatusChanged',
  z.object({ tenant_id: z.string(), status: z.enum(['active', 'suspended']) }),
);

export const tenantEvents = [TenantCreated, TenantChanged, TenantStatusChanged, ...ssoEvents] as const;
export type TenantEvent = EventOf<(typeof tenantEvents)[number]>;

// State

export type TenantSettings = z.output<typeof settings>;
export interface ExistingTenant extends TenantSettings {
  readonly exists: true;
  readonly id: string;
  readonly status: 'active' | 'suspended';
  readonly createdAt: number;
  /** Undefined without single sign-on. */
  readonly sso?: TenantSso | undefined;
}
export type Tenant = { readonly exists: false } | ExistingTenant;

/**
 * The assistant is included in `enterprise`, an add-on on other paid plans, and unavailable on the free plan
 * (decisions, section 7).
 */
export const hasAssistant = ({
  plan,
  entitlements,
}: Pick<TenantSettings, 'plan' | 'entitlements'>): boolean =>
  plan === 'enterprise' || (plan !== 'free' && entitlements.assistant);

/** Picks the settings from an object that may have other members. */
export const settingsOf = (values: TenantSettings): TenantSettings => ({
  name: values.name,
  plan: values.plan,
  partner_id: values.partner_id,
  entitlements: values.entitlements,
  currency: values.currency,
  timezone: values.timezone,
});

const onTenant = onlyIn((state: Tenant): state is ExistingTenant => state.exists);

export const tenantStream: StreamType<Tenant, TenantEvent> = {
  category: 'tenant',
  stateVersion: 1,
  initial: { exists: false },
  evolve: folded({
    TenantCreated: (_state, data, { at }) => ({
      exists: true,
      id: data.tenant_id,
      status: 'active',
      createdAt: at,
      ...settingsOf(data),
    }),
    TenantChanged: onTenant((state, { tenant_id: _id, ...values }) => ({ ...state, ...defined(values) })),
    TenantStatusChanged: onTenant((state, { status }) => ({ ...state, status })),
    TenantSsoConfigured: onTenant((state, data, meta) => ({ ...state, sso: ssoOf(data, meta) })),
    TenantSsoRemoved: onTenant((state) => ({ ...state, sso: undefined })),
  }),
};

// Commands

interface CreateTenant extends TenantSettings {
  readonly tenantId: string;
  /** Default: `active`. */
  readonly status?: 'active' | 'suspended' | undefined;
  readonly firstAdmin?: FirstAdmin | undefined;
}

export interface FirstAdmin {
  readonly id: string;
  readonly email: string;
  readonly displayName: string;
  readonly passwordHash: string;
}

export interface ChangeTenant extends Changes<Omit<TenantSettings, 'entitlements'>> {
  readonly entitlements?: Changes<TenantSettings['entitlements']> | undefined;
  readonly status?: ExistingTenant['status'] | undefined;
}

// Decide

const SLUG = /^[a-z][a-z0-9_]{0,39}$/;

/** Excludes `platform` and `partner_…`, which name streams of the platform and of partners. */
export const isTenantId = (id: string): boolean =>
  SLUG.test(id) && id !== PLATFORM && !id.startsWith('partner_');

/** @throws `already_exists` */
export const createTenant = (state: Tenant, command: CreateTenant): readonly TenantEvent[] => {
  if (state.exists)
    throw new DomainError('already_exists', 'A tenant with this id already exists.', { field: 'id' });
  const { tenantId, status, firstAdmin } = command;
  const created = decided(TenantCreated, {
    tenant_id: tenantId,
    ...settingsOf(command),
    admin_id: firstAdmin?.id,
    admin_email: firstAdmin?.email,
    admin_display_name: firstAdmin?.displayName,
    admin_password_hash: firstAdmin?.passwordHash,
  });
  if (status !== 'suspended') return created;
  return [...created, ...decided(TenantStatusChanged, { tenant_id: tenantId, status })];
};

/** Entitlements merge; equal values change nothing. @throws `not_found` */
export const changeTenant = (state: Tenant, command: ChangeTenant): readonly TenantEvent[] => {
  if (!state.exists) throw notFound();
  const { status, entitlements, ...rest } = command;
  const merged = entitlements && { ...state.entitlements, ...defined(entitlements) };
  const changed = changedMembers<TenantSettings>(state, { ...rest, entitlements: merged });
  const events: TenantEvent[] = [];
  if (Object.keys(changed).length > 0) {
    events.push({ type: 'TenantChanged', data: { tenant_id: state.id, ...changed } });
  }
  if (status !== undefined && status !== state.status) {
    events.push({ type: 'TenantStatusChanged', data: { tenant_id: state.id, status } });
  }
  return events;
};
