import { DomainError } from '../core/errors.ts';
import { halfEven } from '../core/half-even.ts';
import type { Rate } from './rate-card.ts';
import type { Meter, StatementLine, Totals, Window } from './shapes.ts';

/**
 * Computes prices (decisions, section 10). Rates are exact decimals, held as integers of millionths; each amount is
 * rounded once, half to even.
 */

const PLACES = 6;
const UNIT = 10n ** BigInt(PLACES);

/** A rate (`RATE`) in millionths of a minor unit. */
export const millionths = (rate: string): bigint => {
  const [whole = '0', fraction = ''] = rate.split('.');
  return BigInt(whole) * UNIT + BigInt(fraction.padEnd(PLACES, '0'));
};

/** @throws `constraint_violated` when a JSON number cannot hold the amount */
const exact = (amount: bigint): number => {
  const number = Number(amount);
  if (Number.isSafeInteger(number)) return number;
  throw new DomainError('constraint_violated', 'An amount is too large.', {
    issues: [{ path: 'rates', code: 'out_of_range', message: 'An amount is above 9007199254740991.' }],
  });
};

/** The price of a quantity, in minor units, rounded once. */
export const amountOf = (quantity: number, rate: string): number =>
  exact(halfEven(BigInt(quantity) * millionths(rate), UNIT));

/** `margin / retail` in percent with two decimals, half-even; null when retail is 0. */
export const marginPct = (margin: bigint, retail: bigint): number | null =>
  retail === 0n ? null : Number(halfEven(margin * 10_000n, retail)) / 100;

export const totalsOf = (lines: readonly Pick<StatementLine, 'wholesale' | 'retail'>[]): Totals => {
  const sum = (amounts: readonly number[]) => amounts.reduce((all, each) => all + BigInt(each), 0n);
  const wholesale = sum(lines.map((line) => line.wholesale));
  const retail = sum(lines.map((line) => line.retail));
  const margin = retail - wholesale;
  return {
    wholesale: exact(wholesale),
    retail: exact(retail),
    margin: exact(margin),
    margin_pct: marginPct(margin, retail),
  };
};

/** Usage of a meter, and the part of this usage that the rate card charges for. */
export interface Measure {
  readonly quantity: number;
  readonly billable: number;
}

export type Texts = Pick<StatementLine, 'item_name' | 'item_description'>;

/** Prices a line; a meter without a rate is listed at no charge. @param late window to which late usage belongs */
export const lineOf = (
  meter: Meter,
  { quantity, billable }: Measure,
  rate: Rate | undefined,
  texts: Texts,
  late?: Window,
): StatementLine => ({
  meter,
  quantity,
  included: quantity - billable,
  billable,
  wholesale_rate: rate?.wholesale ?? null,
  retail_rate: rate?.retail ?? null,
  wholesale: rate === undefined ? 0 : amountOf(billable, rate.wholesale),
  retail: rate === undefined ? 0 : amountOf(billable, rate.retail),
  ...texts,
  ...(rate === undefined ? { unrated: true as const } : {}),
  ...(late === undefined ? {} : { late: true as const, window: late }),
});
