/** Decimal places of a currency, as amounts in minor units imply them. */
export const placesOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;

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

/** Minor units as the text of a field: 4990 → "49.90"; empty for 0. */
export const majorText = (minor: number, currency: string): string => {
  if (minor === 0) return '';
  const places = placesOf(currency);
  const digits = String(minor).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
};
