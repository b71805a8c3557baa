import { invalid, notFound } from '../domain/errors.ts';
import {
  type ChangeTenant,
  changeTenant,
  createTenant,
  type ExistingTenant,
  isTenantId,
  type Plan,
  type Tenant,
  type TenantEvent,
  tenantDecider,
} from '../domain/tenancy/tenant.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Identity } from './identity.ts';
import type { Position } from './ports/event-store.ts';
import { type RequestContext, uuidFromName } from './request-context.ts';
import { PLATFORM } from './streams.ts';

export interface NewTenant {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly partner_id?: string | null | undefined;
  readonly entitlements?: { ledger?: boolean | undefined; assistant?: boolean | undefined } | undefined;
  readonly currency: string;
  readonly timezone: string;
  readonly admin?: { email: string; password: string; display_name: string } | undefined;
}

/** Use cases on tenants, for platform admins (decisions, section 3, Platform). */
export class Tenancy {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #identity: Identity;

  constructor(deps: { commands: CommandHandler; directory: Directory; identity: Identity }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#identity = deps.identity;
  }

  /**
   * The first admin's id is derived from tenant and e-mail, so that a retry after a crash completes what began.
   * @throws `validation_failed` for an id that cannot be a tenant's, `already_exists`
   */
  async create(
    tenant: NewTenant,
    context: RequestContext,
  ): Promise<{ tenant: ExistingTenant; position: Position | undefined }> {
    if (!isTenantId(tenant.id)) {
      throw invalid([{ path: 'id', code: 'invalid_id', message: 'This id cannot be a tenant id.' }]);
    }
    const { admin, id, ...settings } = tenant;
    const outcome = await this.#commands.execute({
      tenantId: PLATFORM,
      decider: tenantDecider,
      id,
      cause: context.cause,
      again: context.again,
      decide: (state) =>
        createTenant(state, {
          tenantId: id,
          name: settings.name,
          plan: settings.plan,
          partner_id: settings.partner_id ?? null,
          entitlements: {
            ledger: settings.entitlements?.ledger ?? false,
            assistant: settings.entitlements?.assistant ?? false,
          },
          currency: settings.currency,
          timezone: settings.timezone,
        }),
    });
    let { position } = outcome;
    if (admin !== undefined) {
      const created = await this.#identity.createUser(
        id,
        {
          id: uuidFromName(`first-admin\n${id}\n${admin.email}`),
          email: admin.email,
          displayName: admin.display_name,
          role: 'admin',
          password: admin.password,
        },
        context,
      );
      position = created.position;
    }
    return { tenant: existing(outcome), position };
  }

  /** Entitlements merge. @throws `not_found` */
  async change(
    tenantId: string,
    change: ChangeTenant,
    context: RequestContext,
  ): Promise<{ tenant: ExistingTenant; position: Position | undefined }> {
    const outcome = await this.#commands.execute({
      tenantId: PLATFORM,
      decider: tenantDecider,
      id: tenantId,
      cause: context.cause,
      again: context.again,
      decide: (state) => changeTenant(state, change),
    });
    return { tenant: existing(outcome), position: outcome.position };
  }

  /** @throws `not_found` */
  async get(tenantId: string): Promise<ExistingTenant> {
    const tenant = await this.#directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    return tenant;
  }
}

const existing = (outcome: Outcome<Tenant, TenantEvent>): ExistingTenant => {
  if (!outcome.state.exists) throw notFound();
  return outcome.state;
};
