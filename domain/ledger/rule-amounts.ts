import { halfEven } from '../core/half-even.ts';
import { MAX_MONEY, minorDigits } from './money.ts';

/** Amounts of posting rules, computed without floats (decisions, section 9, Posting rule). */

/** The value does not give an amount. */
export class AmountProblem extends Error {
  override readonly name = 'AmountProblem';
  readonly code: 'invalid_amount' | 'negative_amount';

  constructor(code: AmountProblem['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const DECIMAL = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;
/** Bounds the work for a text; no amount is longer. */
const MAX_CHARACTERS = 60;

const problem = (message: string): AmountProblem => new AmountProblem('invalid_amount', message);

/**
 * Reads an integer as minor units, and a text as a decimal of major units; further digits than the currency has must
 * be zeros.
 * @returns minor units, 0 or more
 * @throws {AmountProblem}
 */
export const minorUnits = (value: unknown, currency: string): bigint => {
  const minor = typeof value === 'string' ? fromMajor(value, currency) : fromMinor(value);
  if (minor < 0n) throw new AmountProblem('negative_amount', 'an amount is not negative');
  return atMost(minor);
};

/** @throws {AmountProblem} above 2^53 - 1 */
export const atMost = (minor: bigint): bigint => {
  if (minor > MAX_MONEY) throw problem('an amount is at most 2^53 - 1 minor units');
  return minor;
};

const fromMinor = (value: unknown): bigint => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (value === undefined || value === null) throw problem('there is no value');
  throw problem('this is neither a whole number of minor units nor a decimal text of major units');
};

const fromMajor = (text: string, currency: string): bigint => {
  const parts = text.length > MAX_CHARACTERS ? null : DECIMAL.exec(text);
  if (parts === null) throw problem('this text is no decimal number');
  const [, sign = '', whole = '', fraction = ''] = parts;
  const digits = minorDigits(currency);
  if (/[1-9]/.test(fraction.slice(digits))) {
    throw problem(`${currency} has ${digits} decimal places, and the number has more`);
  }
  return BigInt(`${sign}${whole}${fraction.slice(0, digits).padEnd(digits, '0')}`);
};

/** Decimal places of a percentage. */
export const PERCENT_PLACES = 6;
export const MAX_PERCENT = 100;

/** Above 0, at most 100, at most six decimal places. */
export const isPercent = (percent: number): boolean =>
  percent > 0 && percent <= MAX_PERCENT && Number(percent.toFixed(PERCENT_PLACES)) === percent;

/** @param base minor units, 0 or more @param percent as {@link isPercent} @returns rounded half-even */
export const percentOf = (base: bigint, percent: number): bigint => {
  const scaled = BigInt(percent.toFixed(PERCENT_PLACES).replace('.', ''));
  return halfEven(base * scaled, 100n * 10n ** BigInt(PERCENT_PLACES));
};
