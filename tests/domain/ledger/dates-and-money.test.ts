import { expect } from 'chai';
import fc from 'fast-check';
import { dayAfter, dayBefore, dayIn, isDay, yearStart } from '../../../domain/ledger/dates.ts';
import { minorDigits, plus, type Sum, sumOf } from '../../../domain/ledger/money.ts';

describe('Days of the calendar', () => {
  it('are the real days of the years 0001 to 9999', () => {
    for (const day of ['2028-02-29', '0001-01-01', '9999-12-31', '2000-02-29'])
      expect(isDay(day)).to.equal(true);
    for (const day of [
      '2027-02-29',
      '1900-02-29',
      '0000-01-01',
      '2026-00-10',
      '2026-04-31',
      '2026-1-1',
      '',
    ]) {
      expect(isDay(day), day).to.equal(false);
    }
  });

  it('follow the time zone', () => {
    const eve = Date.UTC(2026, 11, 31, 12);
    expect(dayIn(eve, 'UTC')).to.equal('2026-12-31');
    expect(dayIn(eve, 'Pacific/Kiritimati')).to.equal('2027-01-01');
    expect(dayIn(Date.UTC(2027, 0, 1, 7, 30), 'America/Los_Angeles')).to.equal('2026-12-31');
    // The clocks of Berlin go forward on this day.
    expect(dayIn(Date.UTC(2026, 2, 29, 22, 30), 'Europe/Berlin')).to.equal('2026-03-30');
    expect(dayIn(Date.UTC(2026, 2, 28, 22, 30), 'Europe/Berlin')).to.equal('2026-03-28');
  });

  it('have neighbours in text order', () => {
    const days = fc
      .integer({ min: Date.UTC(0, 0, 2) - 1_800 * 31_557_600_000, max: Date.UTC(9999, 11, 30) })
      .map((ms) => new Date(ms).toISOString().slice(0, 10))
      .filter(isDay);
    fc.assert(
      fc.property(days, (day) => {
        expect(dayBefore(day) < day && day < dayAfter(day), day).to.equal(true);
        expect(dayAfter(dayBefore(day))).to.equal(day);
      }),
    );
    expect(dayBefore('0001-01-01')).to.equal('0000-12-31');
    expect('9999-12-31' < dayAfter('9999-12-31')).to.equal(true);
    expect(yearStart('2026-07-14')).to.equal('2026-01-01');
  });
});

describe('Sums of money', () => {
  it('stay exact at any size', () => {
    const amounts = fc.array(fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }), {
      minLength: 1,
      maxLength: 20,
    });
    fc.assert(
      fc.property(amounts, (all) => {
        const sum = all.reduce<Sum | undefined>((before, each) => plus(before, each), undefined);
        expect(BigInt(sum ?? 0)).to.equal(all.reduce((before, each) => before + BigInt(each), 0n));
        // The sum stays exact in JSON too.
        expect(BigInt(JSON.parse(JSON.stringify(sum)))).to.equal(BigInt(sum ?? 0));
      }),
    );
    expect(sumOf(9_007_199_254_740_991n)).to.equal(9_007_199_254_740_991);
    expect(sumOf(9_007_199_254_740_993n)).to.equal('9007199254740993');
  });

  it('use the decimal places of the currency', () => {
    expect(['EUR', 'JPY', 'KWD', 'CLF', 'ISK', 'TND', 'HUF'].map(minorDigits)).to.deep.equal([
      2, 0, 3, 4, 0, 3, 2,
    ]);
  });
});
