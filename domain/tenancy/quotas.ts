import { DomainError } from '../core/errors.ts';
import type { Plan } from './tenant.ts';

/** Limits on a tenant's storage, and its share of background work, by plan (docs/limits.md, decision 68). */
interface Quotas {
  /** Entities; the fields of each entity have at most 131,072 characters as JSON. */
  readonly entities: number;
  /** Accounts of the chart: each report reads all accounts. */
  readonly accounts: number;
  /** Bytes of all files that are not deleted. */
  readonly uploads: number;
  /** Bytes of the rows that previews freeze in an hour. */
  readonly preview_rows: number;
  /** Share of background work, relative to other tenants. */
  readonly weight: number;
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const QUOTAS: Readonly<Record<Plan, Quotas>> = {
  free: { entities: 500, accounts: 1000, uploads: 2 * GIB, preview_rows: 256 * MIB, weight: 1 },
  hobby: { entities: 1000, accounts: 1000, uploads: 10 * GIB, preview_rows: 256 * MIB, weight: 1 },
  pro: { entities: 2000, accounts: 2000, uploads: 50 * GIB, preview_rows: 512 * MIB, weight: 2 },
  business: { entities: 4000, accounts: 3000, uploads: 250 * GIB, preview_rows: GIB, weight: 3 },
  enterprise: { entities: 8000, accounts: 5000, uploads: 1024 * GIB, preview_rows: 2 * GIB, weight: 4 },
};

/** Bytes that a frozen row takes in the log, its outcome included. */
export const PREVIEW_ROW_BYTES = 256;

/**
 * @param used amount before the request, which would add `added`
 * @throws `quota_exceeded` with `details.limit`, `max` and `used`
 */
export const checkQuota = (
  limit: 'entities' | 'accounts' | 'uploads',
  plan: Plan,
  { used, added }: { readonly used: number; readonly added: number },
): void => {
  const max = QUOTAS[plan][limit];
  if (used + added <= max) return;
  const message = `The plan does not allow more ${limit}.`;
  throw new DomainError('quota_exceeded', message, { limit, max, used });
};
