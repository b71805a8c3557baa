import { expect } from 'chai';
import { createRateLimits, refuse } from '../../../api/http/rate-limits.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { PREVIEW_ROW_BYTES, QUOTAS } from '../../../domain/tenancy/quotas.ts';
import type { Plan } from '../../../domain/tenancy/tenant.ts';

/** Rows of the largest preview. */
const ROWS = 100_000;
const HOUR_MS = 3_600_000;

const previewLimit = (clock: Clock) => {
  // Limits of requests are off; those of previews stay.
  const limits = createRateLimits({ requestsPerMinute: 0, loginsPerMinute: 0 }, clock);
  return (tenantId: string, plan: Plan, rows: number): void =>
    refuse(limits.previewOf(tenantId, plan, rows), 'preview_rows');
};

describe('The limit of the rows of previews', () => {
  const refused = (work: () => void): DomainError | undefined => {
    try {
      work();
      return undefined;
    } catch (error) {
      if (error instanceof DomainError) return error;
      throw error;
    }
  };

  for (const plan of ['free', 'enterprise'] as const) {
    it(`admits the hourly limit of plan ${plan} at once, and refuses more with the time to wait`, () => {
      let now = 0;
      const take = previewLimit({ now: () => now });
      const most = Math.floor(QUOTAS[plan].preview_rows / (ROWS * PREVIEW_ROW_BYTES));
      for (let nth = 0; nth < most; nth += 1) take('acme', plan, ROWS);
      const error = refused(() => take('acme', plan, ROWS));
      expect(error?.code).to.equal('rate_limited');
      expect(error?.details).to.include({ limit: 'preview_rows' });
      const seconds = Number(error?.details?.retry_after);
      expect(seconds).to.be.within(1, HOUR_MS / 1000);
      expect(refused(() => take('globex', plan, ROWS))).to.equal(undefined);
      now += seconds * 1000;
      expect(refused(() => take('acme', plan, ROWS))).to.equal(undefined);
    });
  }

  it('admits small previews that fit into the rest of the limit', () => {
    const take = previewLimit({ now: () => 0 });
    const rows = QUOTAS.free.preview_rows / PREVIEW_ROW_BYTES;
    take('acme', 'free', rows - 10);
    expect(refused(() => take('acme', 'free', 11))?.code).to.equal('rate_limited');
    expect(refused(() => take('acme', 'free', 10))).to.equal(undefined);
  });
});
