import type { Clock } from '../../application/ports/clock.ts';
import { PREVIEW_ROW_BYTES, QUOTAS } from '../../domain/tenancy/quotas.ts';
import { PLANS, type Plan } from '../../domain/tenancy/tenant.ts';
import { refuse, TokenBuckets } from './rate-limits.ts';

/** Counts the rows of a preview before they are frozen. @throws {DomainError} `rate_limited` */
export type TakePreviewRows = (tenantId: string, plan: Plan, rows: number) => void;

const KIB = 1024;

/** Limits the bytes that the previews of a tenant write in an hour; a tenant may use an hour's bytes at once. */
export const previewLimit = (clock: Clock): TakePreviewRows => {
  const buckets = new Map(
    PLANS.map((plan) => {
      const kib = QUOTAS[plan].preview_rows / KIB;
      return [plan, new TokenBuckets(kib / 60, kib)] as const;
    }),
  );
  return (tenantId, plan, rows) => {
    const kib = (rows * PREVIEW_ROW_BYTES) / KIB;
    refuse(buckets.get(plan)?.take(tenantId, clock.now(), kib), 'preview_rows');
  };
};
