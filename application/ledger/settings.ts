import { notFound } from '../../domain/core/errors.ts';
import { dayIn } from '../../domain/ledger/dates.ts';
import type { Directory } from '../identity/directory.ts';
import type { Clock } from '../ports/clock.ts';

/**
 * The present day, `YYYY-MM-DD` in the tenant's time zone, and the default currency of entries and reports.
 * @throws `not_found`
 */
export const ledgerSettingsOf = async (
  { directory, clock }: { readonly directory: Directory; readonly clock: Clock },
  tenantId: string,
): Promise<{ readonly today: string; readonly currency: string }> => {
  const tenant = await directory.tenant(tenantId);
  if (tenant === undefined) throw notFound();
  return { today: dayIn(clock.now(), tenant.timezone), currency: tenant.currency };
};
