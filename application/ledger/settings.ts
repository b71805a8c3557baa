import { notFound } from '../../domain/core/errors.ts';
import { dayIn } from '../../domain/ledger/dates.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock } from '../ports/clock.ts';

/** The ledger's settings, taken from the tenant. */
export interface Settings {
  /** `YYYY-MM-DD` in the tenant's time zone. */
  readonly today: string;
  /** Default currency of entries and reports. */
  readonly currency: string;
}

export class LedgerSettings extends WithDeps<{ directory: Directory; clock: Clock }> {
  /** @throws `not_found` */
  async of(tenantId: string): Promise<Settings> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    return { today: dayIn(this.deps.clock.now(), tenant.timezone), currency: tenant.currency };
  }
}
