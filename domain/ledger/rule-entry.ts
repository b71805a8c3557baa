import { DomainError } from '../core/errors.ts';
import { evaluateCondition, parseCondition } from '../expressions/condition.ts';
import { select } from '../expressions/evaluate.ts';
import { instantOf } from '../expressions/times.ts';
import { type Content, requireBalance } from './content.ts';
import { dayIn, isDay } from './dates.ts';
import { AmountProblem, atMost, CURRENCY, minorUnits, percentOf } from './money.ts';
import type { PostingRule, RuleLine } from './posting-rule.ts';
import { sourceOf } from './rule-sources.ts';

/** Applies a posting rule to the payload of an event (decisions, section 9, Posting rule). */

export interface RuleInput {
  readonly payload: unknown;
  /** Time of the event, ms. */
  readonly at: number;
  /** Time zone of the tenant. */
  readonly timezone: string;
  readonly currency: string;
}

/**
 * Evaluates the condition, then computes currency, date and the lines' amounts in minor units. A `remainder` line takes
 * the amount that balances the other lines. Balance, chart and lock are checked when the entry is recorded.
 * @throws `constraint_violated` (`invalid_amount`, `negative_amount`, `invalid_date`, `invalid_currency`);
 * `unbalanced`
 * @returns no entry when the rule does not match, or when every line is zero
 */
export const applyRule = (
  rule: PostingRule,
  input: RuleInput,
): { readonly matches: boolean; readonly entry?: Content } => {
  const { payload, at } = input;
  if (rule.when !== undefined) {
    const condition = parseCondition(rule.when, ['payload'], 'when');
    if (!evaluateCondition(condition, { payload }, at)) return { matches: false };
  }
  const currency = currencyOf(rule, input);
  const amounts = amountsOf(rule.lines, payload, currency);
  const lines = rule.lines.flatMap(({ account_code, side, memo }, index) => {
    const amount = Number(amounts[index] ?? 0n);
    if (amount === 0) return [];
    const sides = side === 'debit' ? { debit: amount, credit: 0 } : { debit: 0, credit: amount };
    return [{ account_code, ...sides, ...(memo === undefined ? {} : { memo }) }];
  });
  if (lines.length === 0) return { matches: true };
  // A single line cannot balance.
  if (lines.length === 1) requireBalance({ lines, currency });
  return { matches: true, entry: { date: dateOf(rule, input), memo: rule.name, currency, lines } };
};

const valueAt = (payload: unknown, path: string): unknown => select(payload, path.split('.'));

/** Failures are listed with the issue's code. Messages omit payload values, which may be erased later. */
const refused = (code: string, path: string, message: string): DomainError =>
  new DomainError('constraint_violated', message, { field: path, issues: [{ path, code, message }] });

const currencyOf = (rule: PostingRule, { payload, currency }: RuleInput): string => {
  const { currency: path } = sourceOf(rule.source_kind);
  if (path === undefined) return currency;
  const named = valueAt(payload, path) ?? currency;
  if (typeof named === 'string' && CURRENCY.test(named)) return named;
  throw refused('invalid_currency', `payload.${path}`, `${path} is not an ISO 4217 currency code.`);
};

const dateOf = (rule: PostingRule, { payload, at, timezone }: RuleInput): string => {
  if (rule.date === undefined) return dayIn(at, timezone);
  const value = valueAt(payload, rule.date);
  if (typeof value === 'string') {
    if (isDay(value)) return value;
    const ms = instantOf(value);
    const day = ms === undefined ? '' : dayIn(ms, timezone);
    if (isDay(day)) return day;
  }
  const message = `${rule.date} is neither a calendar date nor an instant.`;
  throw refused('invalid_date', `payload.${rule.date}`, message);
};

/** Amount of each line in minor units. */
const amountsOf = (lines: readonly RuleLine[], payload: unknown, currency: string): readonly bigint[] => {
  const amounts = lines.map(({ amount }, index) => {
    if ('remainder' in amount) return undefined;
    const [path, what, value] =
      'fixed' in amount
        ? [`lines.${index}.amount.fixed`, 'The fixed amount', amount.fixed]
        : [`payload.${amount.path}`, amount.path, valueAt(payload, amount.path)];
    return stated(path, what, () => {
      const base = minorUnits(value, currency);
      return 'percent' in amount ? percentOf(base, amount.percent) : base;
    });
  });
  const rest = amounts.indexOf(undefined);
  const side = lines[rest]?.side;
  if (side === undefined) return amounts.map((amount) => amount ?? 0n);
  const left = lines.reduce((sum, line, index) => {
    const amount = amounts[index] ?? 0n;
    return line.side === side ? sum - amount : sum + amount;
  }, 0n);
  const remainder = stated(`lines.${rest}.amount`, 'The remainder', () => {
    if (left < 0n) throw new AmountProblem('negative_amount', 'an amount must not be negative');
    return atMost(left);
  });
  return amounts.map((amount) => amount ?? remainder);
};

const stated = (path: string, what: string, amount: () => bigint): bigint => {
  try {
    return amount();
  } catch (error) {
    if (!(error instanceof AmountProblem)) throw error;
    throw refused(error.code, path, `${what}: ${error.message}.`);
  }
};
