import { decimalKey } from '../expressions/decimal.ts';

/** Decimals are JSON strings, so that no digit is lost (decisions, section 6). */

const DECIMAL = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;
const MAX_DIGITS = 38;

/** Plain notation: no exponent, no redundant leading zero, at most 38 digits. */
export const isDecimal = (text: string): boolean =>
  text.length <= MAX_DIGITS + 2 && DECIMAL.test(text) && text.replace(/[-.]/g, '').length <= MAX_DIGITS;

/** Comparator for sorting; both texts must be decimals. */
export const compareDecimals = (a: string, b: string): number => {
  const [x = '', y = ''] = [decimalKey(a), decimalKey(b)];
  return x < y ? -1 : x > y ? 1 : 0;
};
