import { notFound } from '../../domain/core/errors.ts';
import { dayIn } from '../../domain/ledger/dates.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock } from '../ports/clock.ts';

/** The ledger's settings, taken from the tenant. */
export interface Settings {
  /** `YYYY-MM-DD` in the tenant's time zone. */
  readonly today: string;
  /** Default currency of entries and reports. */
  readonly currency: string;
}

export class LedgerSettings {
  readonly #directory: Directory;
  readonly #clock: Clock;

  constructor(deps: { directory: Directory; clock: Clock }) {
    this.#directory = deps.directory;
    this.#clock = deps.clock;
  }

  /** @throws `not_found` */
  async of(tenantId: string): Promise<Settings> {
    const tenant = await this.#directory.tenant(tenantId);
    if (tenant === undefined) throw notFound();
    return { today: dayIn(this.#clock.now(), tenant.timezone), currency: tenant.currency };
  }
}
