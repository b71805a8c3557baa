import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../domain/core/errors.ts';
import type { Content } from '../../domain/ledger/content.ts';
import { isPercent, majorText, minorDigits, minorUnits, percentOf } from '../../domain/ledger/money.ts';
import { reasonOf } from '../../domain/ledger/posting-failure.ts';
import type { PostingRule, RuleAmount, RuleLine } from '../../domain/ledger/posting-rule.ts';
import { applyRule } from '../../domain/ledger/rule-entry.ts';

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

const ruleOf = (lines: readonly RuleLine[]): PostingRule => ({
  id: 'rule',
  name: 'Any',
  source_kind: 'entity.created',
  active: true,
  mode: 'post',
  lines: [...lines],
  createdAt: 0,
  updatedAt: 0,
});

const currency = fc.constantFrom('EUR', 'JPY', 'KWD', 'CLF');
const minor = fc.oneof(
  fc.bigInt({ min: 0n, max: 10_000n }),
  fc.bigInt({ min: 0n, max: MAX }),
  fc.constantFrom(0n, 1n, MAX),
);
/** Up to six decimal places. */
const percent = fc.integer({ min: 1, max: 100_000_000 }).map((millionths) => millionths / 1_000_000);

/** Minor units as an event may hold them: a number, or a text of major units with trailing zeros. */
const written = (amount: bigint, code: string, asText: boolean, zeros: number): number | string => {
  if (!asText) return Number(amount);
  const text = majorText(amount, code);
  return zeros === 0 ? text : `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(zeros)}`;
};

/** Rounds half-even by comparison with both neighbours; its only division rounds down. */
const roundedByHand = (base: bigint, millionths: bigint): bigint => {
  const exact = base * millionths;
  const unit = 100_000_000n;
  const below = exact / unit;
  const [down, up] = [exact - below * unit, (below + 1n) * unit - exact];
  if (down !== up) return down < up ? below : below + 1n;
  return below % 2n === 0n ? below : below + 1n;
};

describe('Amounts of posting rules', () => {
  it('are parsed exactly, as numbers of minor units and as texts of major units', () => {
    fc.assert(
      fc.property(minor, currency, fc.boolean(), fc.nat(5), (amount, code, asText, zeros) => {
        expect(minorUnits(written(amount, code, asText, zeros), code)).to.equal(amount);
      }),
    );
  });

  it('are refused when a digit would be lost', () => {
    fc.assert(
      fc.property(
        minor,
        currency,
        fc.integer({ min: 1, max: 9 }),
        fc.nat(6),
        (amount, code, digit, zeros) => {
          const text = majorText(amount, code);
          const longer = `${text}${minorDigits(code) === 0 ? '.' : ''}${'0'.repeat(zeros)}${digit}`;
          expect(() => minorUnits(longer, code)).to.throw();
        },
      ),
    );
    for (const text of [
      '',
      '.5',
      '5.',
      '05',
      '+5',
      '1e2',
      '0x10',
      '1 000',
      '1,5',
      'NaN',
      '-',
      '٣',
      '1'.repeat(61),
    ]) {
      expect(() => minorUnits(text, 'EUR'), text).to.throw();
    }
    for (const value of [0.1, 1e21, 2 ** 53, Number.NaN, Infinity, true, {}, [], null, undefined, 5n]) {
      expect(() => minorUnits(value, 'EUR'), String(value)).to.throw();
    }
    for (const zero of [0, -0, '0', '-0', '0.000', '-0.00']) expect(minorUnits(zero, 'EUR')).to.equal(0n);
  });

  it('of a percentage are rounded half-even, once', () => {
    fc.assert(
      fc.property(minor, fc.bigInt({ min: 1n, max: 100_000_000n }), (base, millionths) => {
        const given = Number(millionths) / 1_000_000;
        expect(isPercent(given)).to.equal(true);
        expect(percentOf(base, given)).to.equal(roundedByHand(base, millionths));
      }),
      { numRuns: 800 },
    );
    const halves = [1n, 3n, 5n, 7n].map((base) => percentOf(base, 50));
    expect(halves).to.deep.equal([0n, 2n, 2n, 4n]);
    for (const none of [0, -1, 100.000001, 1e-7, 33.33333333, Number.NaN, Infinity]) {
      expect(isPercent(none), String(none)).to.equal(false);
    }
  });

  it('balance when a line takes the remainder, to the last unit, or the rule fails', () => {
    const amount: fc.Arbitrary<RuleAmount> = fc.oneof(
      fc.constantFrom('a', 'b', 'c').map((path) => ({ path })),
      fc.record({ percent, path: fc.constantFrom('a', 'b', 'c') }),
      fc.integer({ min: 1, max: 1_000_000 }).map((fixed) => ({ fixed })),
    );
    const line = fc.record({
      account_code: fc.constantFrom('1', '2', '3'),
      side: fc.constantFrom('debit' as const, 'credit' as const),
      amount,
    });
    const rest = fc.record({
      account_code: fc.constant('rest'),
      side: fc.constantFrom('debit' as const, 'credit' as const),
      amount: fc.constant({ remainder: true } as const),
    });
    const small = fc.bigInt({ min: 0n, max: MAX / 200n });
    let balanced = 0;
    fc.assert(
      fc.property(
        fc.array(line, { minLength: 1, maxLength: 8 }),
        rest,
        fc.nat(8),
        currency,
        fc.tuple(small, small, small),
        fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
        (lines, remainder, place, code, values, texts) => {
          const all = [...lines.slice(0, place), remainder, ...lines.slice(place)];
          const [a, b, c] = values.map((value, nth) => written(value, code, texts[nth] ?? false, nth));
          const input = { payload: { a, b, c }, at: 0, timezone: 'UTC', currency: code };
          let entry: Content | undefined;
          try {
            const outcome = applyRule(ruleOf(all), input);
            entry = outcome.matches ? outcome.entry : undefined;
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
            // The remainder’s own side is larger already, so the remainder would be negative.
            expect(reasonOf(error).code).to.equal('negative_amount');
            return;
          }
          const sum = (side: 'debit' | 'credit') =>
            (entry?.lines ?? []).reduce((before, each) => before + BigInt(each[side]), 0n);
          expect(sum('debit')).to.equal(sum('credit'));
          for (const each of entry?.lines ?? []) expect(each.debit > 0 !== each.credit > 0).to.equal(true);
          balanced += 1;
        },
      ),
      { numRuns: 400 },
    );
    expect(balanced).to.be.greaterThan(100);
  });
});
