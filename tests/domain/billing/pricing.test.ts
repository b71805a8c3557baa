import { expect } from 'chai';
import fc from 'fast-check';
import { amountOf, lineOf, marginPct, millionths, totalsOf } from '../../../domain/billing/pricing.ts';
import { RATE, rateCardStream, replaceRateCard } from '../../../domain/billing/rate-card.ts';
import { gapsIn, measure, subtract, type UsagePeriod } from '../../../domain/billing/usage.ts';
import { halfEven } from '../../../domain/core/half-even.ts';
import { given, refusal } from '../../support/given.ts';

const texts = { item_name: '', item_description: '' };
const amounts = (wholesale: number, retail: number) => ({ wholesale, retail });

describe('Pricing', () => {
  it('rounds half to even, on both sides of 0', () => {
    const tenths = [5n, 15n, 25n, 35n, 4n, 6n, 14n, 16n, -5n, -15n, -25n, -26n, -24n, 0n];
    expect(tenths.map((n) => halfEven(n, 10n))).to.deep.equal([
      0n,
      2n,
      2n,
      4n,
      0n,
      1n,
      1n,
      2n,
      0n,
      -2n,
      -2n,
      -3n,
      -2n,
      0n,
    ]);
  });

  it('is off by at most half a unit', () => {
    fc.assert(
      fc.property(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.bigInt(1n, 10n ** 12n), (n, d) => {
        const off = 2n * (n - halfEven(n, d) * d);
        expect(off <= d && -off <= d).to.equal(true);
        if (off === d || -off === d) expect(halfEven(n, d) % 2n).to.equal(0n);
      }),
    );
  });

  it('parses rates exactly, to six decimal places', () => {
    expect(['0', '1', '0.5', '0.000001', '12.345678', '999999999.999999'].map(millionths)).to.deep.equal([
      0n,
      1_000_000n,
      500_000n,
      1n,
      12_345_678n,
      999_999_999_999_999n,
    ]);
    expect(['1.5', '0.0004'].every((text) => RATE.test(text))).to.equal(true);
    for (const text of ['', '-1', '00', '01', '1.', '.1', '1e2', '0.0000001', ' 1', '1\n', '1234567890']) {
      expect(RATE.test(text), text).to.equal(false);
    }
  });

  it('rounds an amount once', () => {
    // 1,234,567 at 0.0004 are 493.8268.
    expect(amountOf(1_234_567, '0.0004')).to.equal(494);
    expect([1, 3, 5, 7].map((quantity) => amountOf(quantity, '0.5'))).to.deep.equal([0, 2, 2, 4]);
    expect(amountOf(1_000_000, '0.000001')).to.equal(1);
    expect(amountOf(0, '999999999.999999')).to.equal(0);
    expect(amountOf(Number.MAX_SAFE_INTEGER, '1')).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it('refuses an amount or a sum that a number cannot hold', () => {
    expect(refusal(() => amountOf(Number.MAX_SAFE_INTEGER, '2')).code).to.equal('constraint_violated');
    const most = amounts(0, Number.MAX_SAFE_INTEGER);
    expect(refusal(() => totalsOf([most, amounts(0, 1)])).code).to.equal('constraint_violated');
    expect(totalsOf([most]).retail).to.equal(Number.MAX_SAFE_INTEGER);
  });

  it('computes the percentage from the totals: negative for losses, null without retail', () => {
    expect(totalsOf([])).to.deep.equal({ ...amounts(0, 0), margin: 0, margin_pct: null });
    expect(totalsOf([amounts(5, 0)])).to.deep.equal({ ...amounts(5, 0), margin: -5, margin_pct: null });
    expect(totalsOf([amounts(0, 5)]).margin_pct).to.equal(100);
    expect(totalsOf([amounts(30, 20)]).margin_pct).to.equal(-50);
    expect(totalsOf([amounts(1, 2), amounts(1, 1)])).to.include({ margin: 1, margin_pct: 33.33 });
    expect([1n, 3n, 5n].map((margin) => marginPct(margin, 20_000n))).to.deep.equal([0, 0.02, 0.02]);
  });

  it('shows a meter without a price at no charge', () => {
    expect(lineOf('active_users', { quantity: 3, billable: 3 }, undefined, texts)).to.deep.equal({
      meter: 'active_users',
      quantity: 3,
      included: 0,
      billable: 3,
      wholesale_rate: null,
      retail_rate: null,
      wholesale: 0,
      retail: 0,
      ...texts,
      unrated: true,
    });
  });
});

const period = (from: string, count: number, users: readonly string[] = []): UsagePeriod => ({
  from: `${from}T00:00:00.000Z`,
  counts: { messages_sent: count },
  users: new Set(users),
});

describe('Measuring usage', () => {
  const periods = [
    period('2026-10-20', 4, ['ann']),
    period('2026-11-01', 3, ['ann', 'ben']),
    period('2026-11-10', 2, ['ben', 'cy']),
    period('2026-12-01', 5, ['ann']),
  ];
  const of = (from: string, included: number, meter: 'messages_sent' | 'active_users' = 'messages_sent') =>
    measure(periods, meter, (each) => each.from >= from, included);

  it('uses up included units per month, in the order of time', () => {
    expect(of('2026-10', 4)).to.deep.equal({ quantity: 14, billable: 2 });
    expect(of('2026-11-10', 4)).to.deep.equal({ quantity: 7, billable: 2 });
    expect(of('2026-11-10', 3)).to.deep.equal({ quantity: 7, billable: 4 });
    expect(of('2027', 3)).to.deep.equal({ quantity: 0, billable: 0 });
  });

  it('counts a person once, in the first period of the window that has the person', () => {
    expect(of('2026-10', 0, 'active_users')).to.deep.equal({ quantity: 3, billable: 3 });
    // Ann is counted in October, Ben and Cy in November; each month includes one person.
    expect(of('2026-10', 1, 'active_users')).to.deep.equal({ quantity: 3, billable: 1 });
    // Two people of November were active before the window began.
    expect(of('2026-11-10', 3, 'active_users')).to.deep.equal({ quantity: 3, billable: 1 });
  });

  it('does not depend on the boundaries of periods', () => {
    const user = fc.constantFrom('a', 'b', 'c', 'd');
    const day = fc.record({ count: fc.nat(4), users: fc.array(user, { maxLength: 3 }) });
    const days = fc.array(day, { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(days, fc.nat(8), fc.nat(9), fc.constantFrom(2, 5), (each, included, from, step) => {
        const dayOf = (nth: number): string => `2026-11-${String(nth + 10)}`;
        const fine = each.map(({ count, users }, nth) => period(dayOf(nth), count, users));
        const begin = from - (from % step);
        const coarse = fine.flatMap((one, nth) => {
          if (nth % step !== 0) return [];
          const group = fine.slice(nth, nth + step);
          const count = group.reduce((all, { counts }) => all + (counts.messages_sent ?? 0), 0);
          return [
            period(
              one.from.slice(0, 10),
              count,
              group.flatMap(({ users }) => [...users]),
            ),
          ];
        });
        for (const meter of ['messages_sent', 'active_users'] as const) {
          const measured = [fine, coarse].map((some) =>
            measure(some, meter, (one) => one.from.slice(0, 10) >= dayOf(begin), included),
          );
          expect(measured[0], meter).to.deep.equal(measured[1]);
        }
      }),
    );
  });

  it('subtracts billed usage, but not below zero', () => {
    const all = { quantity: 5, billable: 3 };
    expect(subtract(all, { quantity: 2, billable: 0 })).to.deep.equal({ quantity: 3, billable: 3 });
    expect(subtract(all, { quantity: 4, billable: 0 })).to.deep.equal({ quantity: 1, billable: 1 });
    expect(subtract(all, { quantity: 9, billable: 9 })).to.deep.equal({ quantity: 0, billable: 0 });
  });

  it('finds the parts of a window that no other window covers', () => {
    const window = { from: 'b', to: 'h' };
    const taken = [
      { from: 'e', to: 'f' },
      { from: 'a', to: 'c' },
      { from: 'e', to: 'e1' },
      { from: 'g', to: 'z' },
    ];
    expect(gapsIn(window, taken)).to.deep.equal([
      { from: 'c', to: 'e' },
      { from: 'f', to: 'g' },
    ]);
    expect(gapsIn(window, [{ from: 'a', to: 'z' }])).to.deep.equal([]);
    expect(gapsIn(window, [])).to.deep.equal([window]);
  });
});

describe('The rate card', () => {
  const card = { currency: 'EUR', rates: { active_users: { wholesale: '1', retail: '2' } } };
  const replaced = (version: number) => ({ type: 'RateCardReplaced', data: { version, ...card } }) as const;

  it('is replaced as a whole by one event, even with equal values', () => {
    given(rateCardStream)
      .when((state) => replaceRateCard(state, card, []))
      .gives(replaced(1));
    given(rateCardStream, replaced(1))
      .when((state) => replaceRateCard(state, { ...card, ifVersion: 1 }, ['EUR']))
      .gives(replaced(2));
  });

  it('refuses another version, and a currency other than that of invoices', () => {
    const history = given(rateCardStream, replaced(1), replaced(2));
    history.when((state) => replaceRateCard(state, { ...card, ifVersion: 1 }, [])).isRefused('conflict');
    history
      .when((state) => replaceRateCard(state, { ...card, currency: 'USD' }, ['EUR']))
      .isRefused('conflict', { currency: 'EUR' });
  });
});
