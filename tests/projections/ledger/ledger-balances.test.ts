import { expect } from 'chai';
import { turnoversIn } from '../../../projections/ledger/ledger-balances.ts';

describe('Turnovers of many accounts and years', () => {
  it('are summed with pauses for other work', async () => {
    const months = Array.from({ length: 1000 }, (_, nth) => ({
      period: nth < 500 ? '2024' : '2025',
      account: `a${nth % 500}`,
      buckets: { '01': [1, 0], '02': [2, 1] },
    }));
    const days = [{ period: '2025-02', account: 'a7', buckets: { 27: [5, 0], 28: [2, 1] } }];
    let pauses = 0;
    const pause = () => {
      pauses += 1;
      return undefined;
    };
    const range = { from: '2025-02-28', to: '2025-12-31' };
    const { before, through } = await turnoversIn([months, days, []], range, pause);
    expect(pauses).to.equal(14);
    expect(before.get('a7')).to.deep.equal({ debit: 1n + 2n + 1n + 5n, credit: 1n });
    expect(through.get('a7')).to.deep.equal({ debit: 2n * 3n, credit: 2n });
    expect([before.size, through.size]).to.deep.equal([500, 500]);
  });
});
