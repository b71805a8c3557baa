import { z } from 'zod';
import { DomainError, invalid } from '../errors.ts';
import { MAX_MONEY } from './money.ts';

/** What an entry says, as draft and as posted (decisions, section 9, Entry). */

export const MIN_LINES = 2;
export const MAX_LINES = 1000;

/** One of `debit` and `credit` is above zero, the other is zero. Minor units. */
export const line = z.object({
  account_code: z.string(),
  debit: z.number(),
  credit: z.number(),
  memo: z.string().optional(),
});
export type Line = z.output<typeof line>;

export const postedLine = line.extend({
  /** As it was when the entry was posted. */
  account_name: z.string(),
});
export type PostedLine = z.output<typeof postedLine>;

/** Who made an entry: `manual`, `reversal` (id: the original) or a source kind (id: the event). */
export const source = z.object({
  kind: z.string(),
  id: z.string().optional(),
  rule_id: z.string().optional(),
});
export type Source = z.output<typeof source>;

export const content = z.object({
  /** `YYYY-MM-DD` */
  date: z.string(),
  memo: z.string(),
  currency: z.string(),
  lines: z.array(line),
});
export type Content = z.output<typeof content>;

/** A line as a caller gives it. */
export interface GivenLine {
  readonly account_code: string;
  readonly debit?: number | undefined;
  readonly credit?: number | undefined;
  readonly memo?: string | undefined;
  readonly currency?: string | undefined;
}

export interface Totals {
  readonly debit: number;
  readonly credit: number;
}

/** Exact for lines that {@link checkedLines} has let through. */
export const totalsOf = (lines: readonly Pick<Line, 'debit' | 'credit'>[]): Totals => ({
  debit: lines.reduce((sum, each) => sum + each.debit, 0),
  credit: lines.reduce((sum, each) => sum + each.credit, 0),
});

/**
 * Lines as they are kept.
 * @throws 400 for an amount or a total that is none, and for a line that does not have exactly one side
 */
export const checkedLines = (lines: readonly GivenLine[]): Line[] => {
  if (lines.length < MIN_LINES || lines.length > MAX_LINES) {
    const code = lines.length < MIN_LINES ? 'too_small' : 'too_big';
    throw invalid([{ path: 'lines', code, message: `An entry has ${MIN_LINES} to ${MAX_LINES} lines.` }]);
  }
  const checked = lines.map(({ account_code, debit = 0, credit = 0, memo }, index): Line => {
    requireAmount(debit, `lines.${index}.debit`);
    requireAmount(credit, `lines.${index}.credit`);
    if (debit > 0 === credit > 0) {
      const message = 'Exactly one of debit and credit is above zero.';
      throw invalid([{ path: `lines.${index}`, code: 'one_side', message }]);
    }
    // `+ 0` makes -0 a 0.
    return { account_code, debit: debit + 0, credit: credit + 0, ...(memo === undefined ? {} : { memo }) };
  });
  const sums = [checked.map(({ debit }) => debit), checked.map(({ credit }) => credit)];
  if (sums.some((side) => side.reduce((sum, each) => sum + BigInt(each), 0n) > MAX_MONEY)) {
    const message = 'The totals are at most 2^53 - 1 minor units.';
    throw invalid([{ path: 'lines', code: 'too_big', message }]);
  }
  return checked;
};

const requireAmount = (amount: number, path: string): void => {
  if (Number.isSafeInteger(amount) && amount >= 0) return;
  const message = 'An amount is a whole number of minor units, at most 2^53 - 1.';
  throw invalid([{ path, code: 'invalid_amount', message }]);
};

/** @throws `mixed_currency` for a line that names another currency */
export const requireCurrency = (lines: readonly GivenLine[], currency: string): void => {
  const stranger = lines.findIndex((each) => each.currency !== undefined && each.currency !== currency);
  if (stranger < 0) return;
  throw new DomainError('mixed_currency', 'An entry has one currency.', {
    line_no: stranger + 1,
    currency: lines[stranger]?.currency,
    expected: currency,
  });
};

/** @throws `unbalanced` */
export const requireBalance = ({ lines, currency }: Pick<Content, 'lines' | 'currency'>): void => {
  const { debit, credit } = totalsOf(lines);
  if (debit === credit) return;
  throw new DomainError('unbalanced', 'The debits are not equal to the credits.', {
    total_debit: debit,
    total_credit: credit,
    difference: debit - credit,
    currency,
  });
};

/** What a mirror says: the sides changed, line by line. */
export const mirrored = (lines: readonly Line[]): Line[] =>
  lines.map(({ account_code, debit, credit, memo }) => ({
    account_code,
    debit: credit,
    credit: debit,
    ...(memo === undefined ? {} : { memo }),
  }));
