import { type DomainError, invalid } from '../../domain/core/errors.ts';

/** Matches numbers that parsing could round to an integer; other numbers need no check. */
const MAY_ROUND = /[\d.][\d.eE+-]{15}|[eE]-\d{2}/;
const NUMBER = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A JSON reviver with its third argument, which the types of the `lib` in use lack. */
type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Refuses numbers that become integers only by rounding: `9007199254740990.6` would become another amount, and a
 * fraction would pass as an integer.
 * @param text valid JSON
 * @throws 400
 */
export const requireExactNumbers = (text: string): void => {
  if (!MAY_ROUND.test(text)) return;
  const check: Reviver = (key, value, { source }) => {
    if (source === undefined || !Number.isSafeInteger(value) || isWhole(source)) return value;
    throw inexact(key);
  };
  JSON.parse(text, check as (key: string, value: unknown) => unknown);
};

/** @param path the key of the number; empty when it is not known */
export const inexact = (path: string): DomainError =>
  invalid([{ path, code: 'inexact', message: 'A number has more digits than can be stored.' }]);

/** Whether a number becomes an integer only by rounding. @param source text of a JSON number, without its sign */
export const mayRound = (source: string): boolean =>
  MAY_ROUND.test(source) && Number.isSafeInteger(Number(source)) && !isWhole(source);

/** @param source text of a JSON number */
const isWhole = (source: string): boolean => {
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = whole + fraction;
  let zeros = 0;
  while (zeros < digits.length && digits.charCodeAt(digits.length - 1 - zeros) === 0x30) zeros += 1;
  return zeros === digits.length || zeros >= fraction.length - Number(exponent);
};
