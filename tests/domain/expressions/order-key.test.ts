import { expect } from 'chai';
import fc from 'fast-check';
import { compareText } from '../../../domain/expressions/compare.ts';
import { decimalKey } from '../../../domain/expressions/decimal.ts';
import { orderKey, orderKeys } from '../../../domain/expressions/order-key.ts';
import { instantOf, isDate } from '../../../domain/expressions/times.ts';

const bytes = (a: string, b: string): number => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

/** `whole`.`fraction` as an integer of 10^-40. */
function exactly(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(40, '0'));
  return text.startsWith('-') ? -value : value;
}

describe('Order keys', () => {
  const decimal = fc
    .tuple(fc.constantFrom('', '-'), fc.stringMatching(/^\d{1,25}$/), fc.stringMatching(/^(\.\d{1,40})?$/))
    .map(([sign, whole, fraction]) => sign + whole + fraction);
  const close = fc.oneof(
    decimal,
    fc.constantFrom('0', '-0', '0.1', '0.10', '-0.1', '1', '-1', '10', '-10', '1.01'),
  );

  it('of decimals sort by bytes as the numbers do, and equal numbers have one key', () => {
    fc.assert(
      fc.property(close, close, (a, b) => {
        const [one, other] = [decimalKey(a) ?? '', decimalKey(b) ?? ''];
        const difference = exactly(a) - exactly(b);
        expect(bytes(one, other)).to.equal(difference === 0n ? 0 : difference < 0n ? -1 : 1);
      }),
      { numRuns: 2_000 },
    );
  });

  it('of decimals accept exponents and signs', () => {
    const equal = [
      ['1e3', '1000', '+1000.0', '0.1E4'],
      ['-1.5e-7', '-0.00000015'],
      ['0', '-0.000', '0e9'],
    ];
    for (const each of equal) expect(new Set(each.map((text) => decimalKey(text)))).to.have.length(1);
    for (const text of [
      '',
      '-',
      '.',
      '1.',
      '.5',
      '1e',
      '1e99999',
      'NaN',
      'Infinity',
      '0x1',
      '1,5',
      ' 1',
      '1 ',
      '١',
    ]) {
      expect(decimalKey(text), text).to.equal(undefined);
    }
  });

  it('of a decimal with a million digits are computed quickly', () => {
    const began = performance.now();
    for (const text of [
      '0'.repeat(1e6),
      `${'0'.repeat(1e6)}1`,
      `1${'0'.repeat(1e6)}1`,
      `-0.${'0'.repeat(1e6)}1`,
    ]) {
      expect(decimalKey(text)).to.be.a('string');
    }
    expect(performance.now() - began).to.be.lessThan(20_000);
  });

  it('of texts sort as UTF-8 does', () => {
    const unit = fc.constantFrom(
      'a',
      'é',
      '\uD7FF',
      '\uE000',
      '\uFFFD',
      '\uFFFF',
      '😀',
      '\u{10000}',
      '\u{10FFFF}',
    );
    const text = fc.array(unit, { maxLength: 4 }).map((units) => units.join(''));
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareText(a, b))).to.equal(bytes(a, b));
      }),
    );
  });

  it('accept only existing days and times', () => {
    const days: [string, boolean][] = [
      ['2024-02-29', true],
      ['2026-02-29', false],
      ['1900-02-29', false],
      ['2000-02-29', true],
    ];
    days.push(
      ['2026-04-31', false],
      ['2026-13-01', false],
      ['2026-00-10', false],
      ['2026-01-00', false],
      ['26-01-01', false],
    );
    for (const [day, exists] of days) expect(isDate(day), day).to.equal(exists);
    expect(instantOf('2026-01-01T00:00:00.1239Z')).to.equal(Date.parse('2026-01-01T00:00:00.123Z'));
    expect(instantOf('2026-01-01T00:30:00+01:00')).to.equal(Date.parse('2025-12-31T23:30:00Z'));
    for (const text of [
      '2026-01-01',
      '2026-02-30T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01T00:00:00',
      '2026-01-01 00:00:00Z',
      '2026-01-01T00:00:00+24:00',
      '9999-12-31T23:59:59-01:00',
      '0000-01-01T00:00:00+00:01',
      '+010000-01-01T00:00:00Z',
    ]) {
      expect(instantOf(text), text).to.equal(undefined);
    }
  });

  it('are undefined for a value of another type', () => {
    const nothing: [Parameters<typeof orderKey>[0], unknown][] = [
      ['text', 1],
      ['integer', '1'],
      ['integer', 1.5],
      ['integer', 2 ** 53],
      ['decimal', 'x'],
      ['boolean', 'true'],
      ['date', '2026-02-30'],
      ['datetime', '2026-01-01'],
      ['json', null],
      ['text', undefined],
    ];
    for (const [type, value] of nothing) expect(orderKey(type, value), type).to.equal(undefined);
  });

  it('are a plain object for any field names', () => {
    const types = JSON.parse('{"__proto__":"text","constructor":"integer","toString":"text"}');
    const keys = orderKeys(types, JSON.parse('{"__proto__":"x","constructor":1}'));
    expect(JSON.stringify(keys)).to.equal('{"__proto__":"x","constructor":1}');
    expect(Object.getPrototypeOf(keys)).to.equal(Object.prototype);
    expect(orderKeys(types, {})).to.deep.equal({});
  });
});
