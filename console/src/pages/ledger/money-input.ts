import { placesOf } from '../../kit/currency.ts';

/**
 * "49.90" as minor units of a currency; undefined for an empty text.
 * @throws {RangeError} for a text that is no amount
 */
export const minorOf = (text: string, currency: string): number | undefined => {
  const trimmed = text.trim().replaceAll(/[\s_']/g, '');
  if (trimmed === '') return undefined;
  const places = placesOf(currency);
  const found = /^(\d+)(?:[.,](\d+))?$/.exec(trimmed);
  const [, whole = '', part = ''] = found ?? [];
  if (found === null || part.length > places) {
    throw new RangeError(
      places === 0
        ? `“${text}” is not a valid amount: ${currency} has no decimal places.`
        : `“${text}” is not a valid amount: write it like 49.90, with at most ${places} decimal places.`,
    );
  }
  const minor = Number(`${whole}${part.padEnd(places, '0')}`);
  if (!Number.isSafeInteger(minor)) throw new RangeError(`“${text}” is too large.`);
  return minor;
};
