/**
 * Money is a whole number of minor units beside an ISO 4217 currency (decisions, section 9). One entry's total fits a
 * safe integer; sums over many entries may not, and are then kept as text, digit by digit.
 */

/** The most that one amount, or one entry's total, may be. */
export const MAX_MONEY = Number.MAX_SAFE_INTEGER;

export const CURRENCY = /^[A-Z]{3}$/;

/** A sum at rest: a number while it is exact as one, else decimal digits. */
export type Sum = number | string;

export const sumOf = (value: bigint): Sum => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
};

export const plus = (sum: Sum | undefined, amount: number): Sum => {
  if (sum === undefined) return amount;
  if (typeof sum === 'number') {
    const added = sum + amount;
    if (Number.isSafeInteger(added)) return added;
  }
  return sumOf(BigInt(sum) + BigInt(amount));
};

/** Minor units of a currency's unit, as powers of ten, where they are not two (ISO 4217, table A.1). */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** How many decimal places the currency's major unit has. */
export const minorDigits = (currency: string): number => DIGITS.get(currency) ?? 2;

/** An amount of minor units as exact decimal text of major units, with all places of the currency. */
export const majorText = (minor: bigint, currency: string): string => {
  const digits = minorDigits(currency);
  const sign = minor < 0n ? '-' : '';
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0');
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
};
