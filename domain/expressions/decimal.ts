const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/;
/** This offset gives every exponent seven digits; enough for a number as long as a request. */
const MIDDLE = 5_000_000;
/** Ends negative numbers. Sorts above every digit: of two negative numbers with a common prefix, the longer is less. */
const ABOVE = '~';

/**
 * An order-preserving text of a number; equal numbers (`1.0`, `1.00`, `10e-1`) have the same text.
 * The number is ±0.d₁d₂… × 10^e with d₁ ≠ 0. A positive number becomes `2`, e, digits; zero becomes `1`; a negative
 * number becomes `0`, the nines' complement of e and digits, and {@link ABOVE}.
 * @returns undefined for a text that is not a number, for an exponent of more than four digits, and if |e| ≥ 5,000,000
 */
export function decimalKey(text: string): string | undefined {
  const parts = DECIMAL.exec(text);
  if (parts === null) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts;
  const digits = whole + fraction;
  let from = 0;
  while (digits[from] === '0') from += 1;
  let to = digits.length;
  while (to > from && digits[to - 1] === '0') to -= 1;
  if (from === to) return '1';
  const scale = whole.length - from + Number(exponent);
  if (Math.abs(scale) >= MIDDLE) return undefined;
  const body = String(scale + MIDDLE).padStart(7, '0') + digits.slice(from, to);
  return sign === '-' ? `0${complement(body)}${ABOVE}` : `2${body}`;
}

const complement = (digits: string): string => digits.replace(/\d/g, (digit) => String(9 - Number(digit)));
