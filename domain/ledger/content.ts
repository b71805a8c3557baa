import { z } from 'zod';
import { DomainError, invalidAt } from '../core/errors.ts';
import { jsonBytes } from '../core/text.ts';
import { MAX_NAME_BYTES } from './account.ts';
import { MAX_MONEY } from './money.ts';

/** The content of an entry, drafted or posted (decisions, section 9, Entry). */

export const MIN_LINES = 2;
export const MAX_LINES = 1000;

/** Exactly one of `debit` and `credit` is above zero. Minor units. */
export const line = z.object({
  account_code: z.string(),
  debit: z.number(),
  credit: z.number(),
  memo: z.string().optional(),
});
export type Line = z.output<typeof line>;

export const postedLine = line.extend({
  /** Name of the account at posting; only on the first line of each account, in older events on every line. */
  account_name: z.string().optional(),
});
export type PostedLine = z.output<typeof postedLine>;

/** Repeats the account's name on each line of a posting. */
export const namedLines = (lines: readonly PostedLine[]): (PostedLine & { account_name: string })[] => {
  const names = new Map<string, string>();
  return lines.map((each) => {
    const { account_code: code, account_name: name = names.get(code) ?? code } = each;
    names.set(code, name);
    return { ...each, account_name: name };
  });
};

/** Origin of an entry: `manual`, `reversal` (id: the original) or a source kind (id: the event). */
export const source = z.object({
  kind: z.string(),
  id: z.string().optional(),
  rule_id: z.string().optional(),
});
export type EntryOrigin = z.output<typeof source>;

export const content = z.object({
  /** `YYYY-MM-DD` */
  date: z.string(),
  memo: z.string(),
  currency: z.string(),
  lines: z.array(line),
});
export type Content = z.output<typeof content>;

/** A line from the caller. */
export interface GivenLine {
  readonly account_code: string;
  readonly debit?: number | undefined;
  readonly credit?: number | undefined;
  readonly memo?: string | undefined;
  readonly currency?: string | undefined;
}

type Sides = Pick<Line, 'debit' | 'credit'>;

/** Exact for lines that {@link checkedLines} accepts. */
export const totalsOf = (lines: readonly Sides[]): Sides => ({
  debit: lines.reduce((sum, each) => sum + each.debit, 0),
  credit: lines.reduce((sum, each) => sum + each.credit, 0),
});

/**
 * Checks lines and fills in the missing side with 0.
 * @throws `validation_failed` for a wrong number of lines, an invalid amount or total, and a line with both sides or
 * neither side above zero
 */
export const checkedLines = (lines: readonly GivenLine[]): Line[] => {
  if (lines.length < MIN_LINES || lines.length > MAX_LINES) {
    const code = lines.length < MIN_LINES ? 'too_small' : 'too_big';
    throw invalidAt('lines', code, `An entry must have ${MIN_LINES} to ${MAX_LINES} lines.`);
  }
  const checked = lines.map(({ account_code, debit = 0, credit = 0, memo }, index): Line => {
    requireAmount(debit, `lines.${index}.debit`);
    requireAmount(credit, `lines.${index}.credit`);
    if (debit > 0 === credit > 0) {
      throw invalidAt(`lines.${index}`, 'one_side', 'Exactly one of debit and credit must be above zero.');
    }
    // Adding 0 converts -0 to 0.
    return { account_code, debit: debit + 0, credit: credit + 0, ...(memo === undefined ? {} : { memo }) };
  });
  const sums = [checked.map(({ debit }) => debit), checked.map(({ credit }) => credit)];
  if (sums.some((side) => side.reduce((sum, each) => sum + BigInt(each), 0n) > MAX_MONEY)) {
    throw invalidAt('lines', 'too_big', 'The totals must be at most 2^53 - 1 minor units.');
  }
  return checked;
};

const requireAmount = (amount: number, path: string): void => {
  if (Number.isSafeInteger(amount) && amount >= 0) return;
  throw invalidAt(
    path,
    'invalid_amount',
    'An amount must be a whole number of minor units, at most 2^53 - 1.',
  );
};

/** @throws `mixed_currency` for a line in another currency */
export const requireCurrency = (lines: readonly GivenLine[], currency: string): void => {
  const stranger = lines.findIndex((each) => each.currency !== undefined && each.currency !== currency);
  if (stranger < 0) return;
  throw new DomainError('mixed_currency', 'All lines of an entry must have the same currency.', {
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

/** Maximum bytes of an entry's lines: 512 KiB per event less 8 KiB for the rest. */
export const MAX_LINES_BYTES = 504 * 1024;
const NAME_BYTES = ',"account_name":""'.length + MAX_NAME_BYTES;

/** Bytes of the lines once posted, assuming names of maximum length. */
export const postedBytes = (lines: readonly Line[]): number =>
  jsonBytes(lines) + NAME_BYTES * new Set(lines.map(({ account_code }) => account_code)).size;

/**
 * Ensures that a draft can be posted and reversed, even after its accounts are renamed (decision 29).
 * @throws `payload_too_large`
 */
export const requireSize = ({ lines }: Pick<Content, 'lines'>): void => {
  if (postedBytes(lines) <= MAX_LINES_BYTES) return;
  const message = 'The lines of the entry are too large to be posted.';
  throw new DomainError('payload_too_large', message, { limit: MAX_LINES_BYTES });
};

/** Lines with debit and credit exchanged. */
export const mirrored = (lines: readonly Line[]): Line[] =>
  lines.map(({ account_code, debit, credit, memo }) => ({
    account_code,
    debit: credit,
    credit: debit,
    ...(memo === undefined ? {} : { memo }),
  }));
