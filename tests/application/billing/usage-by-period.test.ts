import { expect } from 'chai';
import fc from 'fast-check';
import { UsageByPeriod } from '../../../application/billing/usage-by-period.ts';
import { monthStart } from '../../../domain/billing/usage.ts';

const instant = fc
  .integer({ min: Date.UTC(2026, 0, 20), max: Date.UTC(2026, 4, 10) })
  .map((ms) => new Date(ms).toISOString());

describe('Usage by period', () => {
  it('is added to the last period that has begun, and left out when it is outside of all periods', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(instant, { minLength: 2, maxLength: 12 }),
        fc.array(instant, { maxLength: 20 }),
        (some, moments) => {
          const cuts = some.toSorted();
          const usage = new UsageByPeriod(cuts);
          // Adds usage at the very instant of each cut.
          const all = [...moments, ...cuts];
          for (const at of all) {
            usage.add(at, { messages_sent: 1 });
            usage.addUser(at, at);
          }
          const wanted = new Map<string, string[]>();
          for (const at of all) {
            if (at < (cuts[0] ?? '') || at >= (cuts.at(-1) ?? '')) continue;
            const begun = [...cuts, monthStart(at)].filter((cut) => cut <= at).toSorted();
            const from = begun.at(-1) ?? '';
            wanted.set(from, [...(wanted.get(from) ?? []), at]);
          }
          const found = usage.periods().map(({ from, counts, users }) => [from, counts.messages_sent, users]);
          expect(found).to.deep.equal(
            [...wanted]
              .toSorted(([a], [b]) => (a < b ? -1 : 1))
              .map(([from, moments]) => [from, moments.length, new Set(moments)]),
          );
        },
      ),
      { numRuns: 500 },
    );
  });
});
