import { existing, notFound, violated } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import {
  type ChangePartner,
  changePartner,
  createPartner,
  type ExistingPartner,
  isPartnerId,
  type Partner,
  type PartnerEvent,
  partnerStream,
} from '../../domain/partners/partner.ts';
import { isTenantId, tenantStream } from '../../domain/tenancy/tenant.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { PartnerDirectory } from './partner-directory.ts';

interface NewPartner {
  readonly id: string;
  readonly name: string;
  readonly home_tenant_id?: string | null | undefined;
}

type Changed = Written<{ partner: ExistingPartner }>;

/** Use cases on partners, for platform admins (decisions, section 3, Platform). */
export class Partners extends WithDeps<{ streams: Streams; directory: PartnerDirectory }> {
  /** @throws `already_exists`, `constraint_violated` for an unknown `home_tenant_id` */
  create(partner: NewPartner, context: RequestContext): Promise<Changed> {
    const { id, name, home_tenant_id = null } = partner;
    return this.#execute(id, home_tenant_id, context, (state) =>
      createPartner(state, { partnerId: id, name, home_tenant_id }),
    );
  }

  /** @throws `not_found`, `constraint_violated` for an unknown `home_tenant_id` */
  change(partnerId: string, change: ChangePartner, context: RequestContext): Promise<Changed> {
    return this.#execute(partnerId, change.home_tenant_id, context, (state) => changePartner(state, change));
  }

  /** @throws `not_found` */
  async get(partnerId: string): Promise<ExistingPartner> {
    const partner = await this.deps.directory.find(partnerId);
    if (partner === undefined) throw notFound();
    return partner;
  }

  /** Checks the home tenant before the decision: tenants are never deleted, so it still exists then. */
  async #execute(
    id: string,
    homeTenantId: string | null | undefined,
    context: RequestContext,
    decide: (state: Partner) => readonly PartnerEvent[],
  ): Promise<Changed> {
    if (!isPartnerId(id)) throw notFound();
    const homeExists = typeof homeTenantId !== 'string' || (await this.#tenantExists(homeTenantId));
    const outcome = await this.deps.streams.of(partnerStream, PLATFORM, id).execute(context, (state) => {
      const events = decide(state);
      if (!homeExists) throw violated('home_tenant_id', 'unknown_reference', 'There is no such tenant.');
      return events;
    });
    return { partner: existing(outcome.state), position: outcome.position };
  }

  async #tenantExists(tenantId: string): Promise<boolean> {
    if (!isTenantId(tenantId)) return false;
    const stream = this.deps.streams.of(tenantStream, PLATFORM, tenantId);
    return (await stream.loadWhere(({ exists }) => exists)).exists;
  }
}
