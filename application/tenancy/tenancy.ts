import { existing, invalidAt, notFound, violated } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import type { Changes } from '../../domain/core/stream-type.ts';
import { changeSso, type PresentSso, type SsoSettings } from '../../domain/tenancy/sso.ts';
import {
  type ChangeTenant,
  changeTenant,
  createTenant,
  type ExistingTenant,
  type FirstAdmin,
  isTenantId,
  type Tenant,
  TenantCreated,
  type TenantEvent,
  type TenantSettings,
  tenantStream,
} from '../../domain/tenancy/tenant.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { firstAdminKeyId } from '../core/privacy/key-ids.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { AdminAppointments, AppointedAdmin, GivenAdmin } from '../identity/admin-appointments.ts';
import type { Directory } from '../identity/directory.ts';
import type { Identity } from '../identity/identity.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { Passwords } from '../ports/passwords.ts';

interface NewTenant extends Readonly<Pick<TenantSettings, 'name' | 'plan' | 'currency' | 'timezone'>> {
  readonly id: string;
  readonly partner_id?: string | null | undefined;
  readonly entitlements?: Changes<TenantSettings['entitlements']> | undefined;
  readonly sso?: SsoSettings | null | undefined;
  /** Default `active`. */
  readonly status?: 'active' | 'suspended' | undefined;
  readonly admin?: GivenAdmin | undefined;
}

/** Use cases on tenants, for platform admins (decisions, section 3, Platform). */
export class Tenancy extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly identity: Identity;
  readonly appointments: AdminAppointments;
  readonly partners: PartnerDirectory;
  readonly passwords: Passwords;
  readonly keys: KeyRing;
}> {
  /**
   * Creates a tenant. The first admin is part of the tenant's first event and is registered from that event: here, or
   * after a crash by a subscriber (application/identity/first-admin.ts).
   * @throws `validation_failed` for an invalid id or for `sso` without a secret, `already_exists`,
   * `constraint_violated` for an unknown partner
   */
  async create(tenant: NewTenant, context: RequestContext): Promise<Written<{ tenant: ExistingTenant }>> {
    if (!isTenantId(tenant.id)) {
      throw invalidAt('id', 'invalid_id', 'This id cannot be a tenant id.');
    }
    const { admin, id, sso, ...settings } = tenant;
    const requirePartner = await this.#partnerCheck(settings.partner_id);
    const firstAdmin: FirstAdmin | undefined =
      admin === undefined
        ? undefined
        : {
            // Derived from the request, not the e-mail, so that the log cannot be used to test e-mails.
            id: context.newId(),
            email: admin.email,
            displayName: admin.display_name,
            passwordHash: await this.deps.passwords.hash(admin.password),
          };
    const outcome = await this.deps.streams.of(tenantStream, PLATFORM, id).execute(context, (state) => {
      const events = createTenant(state, {
        ...settings,
        tenantId: id,
        partner_id: settings.partner_id ?? null,
        entitlements: {
          ledger: settings.entitlements?.ledger ?? false,
          assistant: settings.entitlements?.assistant ?? false,
        },
        firstAdmin,
      });
      requirePartner();
      return [...events, ...changeSso(id, { sso: undefined, secret: undefined }, sso)];
    });
    let { position } = outcome;
    if (firstAdmin !== undefined) {
      const adminId = adminOf(outcome.events) ?? firstAdmin.id;
      const person = { ...firstAdmin, id: adminId, role: 'admin' as const };
      const created = await this.deps.identity.createUser(id, person, context);
      position = created.position;
      // A subscriber of any process destroys the key, so it must not stay cached here.
      this.deps.keys.forget(firstAdminKeyId(id));
    }
    return { tenant: existing(outcome.state), position };
  }

  /**
   * Changes the given settings (merges entitlements, replaces `sso`), then appoints `admin`.
   * @throws `not_found`, `constraint_violated` for an unknown partner, `validation_failed` for `sso` without a secret,
   * and the errors of {@link AdminAppointments.appoint}
   */
  async change(
    tenantId: string,
    change: ChangeTenant & {
      readonly sso?: SsoSettings | null | undefined;
      readonly admin?: GivenAdmin | undefined;
    },
    context: RequestContext,
  ): Promise<Written<{ tenant: ExistingTenant; admin: AppointedAdmin | undefined }>> {
    const { sso, admin, ...settings } = change;
    const requirePartner = await this.#partnerCheck(change.partner_id);
    const outcome = await this.deps.streams.of(tenantStream, PLATFORM, tenantId).execute(context, {
      prepare: (current) => this.#presentSso(current),
      decide: (state, _context, present) => {
        const events = changeTenant(state, settings);
        requirePartner();
        return [...events, ...changeSso(tenantId, present, sso)];
      },
    });
    const tenant = existing(outcome.state);
    if (admin === undefined) return { tenant, admin: undefined, position: outcome.position };
    const appointed = await this.deps.appointments.appoint(tenantId, admin, context);
    return { tenant, admin: appointed, position: appointed.position };
  }

  /** The single sign-on settings at the revision that is changed. */
  async #presentSso({ state }: { state: Tenant }): Promise<PresentSso> {
    const sso = state.exists ? state.sso : undefined;
    return { sso, secret: sso === undefined ? undefined : await this.deps.keys.open(sso.clientSecret) };
  }

  /** Looks the partner up before the decision: partners are never deleted, so it still exists then. */
  async #partnerCheck(partnerId: string | null | undefined): Promise<() => void> {
    const known = typeof partnerId !== 'string' || (await this.deps.partners.find(partnerId)) !== undefined;
    return () => {
      if (!known) throw violated('partner_id', 'unknown_reference', 'There is no such partner.');
    };
  }

  /** @throws `not_found` */
  async get(tenantId: string): Promise<ExistingTenant> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    return tenant;
  }
}

/** The admin's id in the tenant's first event; a repeated request finds the id of its first try. */
const adminOf = (events: readonly TenantEvent[]): string | undefined =>
  events.map((event) => dataOf(TenantCreated, event)?.admin_id).find((found) => found !== undefined);
