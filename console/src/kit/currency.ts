/**
 * Decimal places other than 2, as in the ledger (ISO 4217). `Intl` has other ones for currencies whose minor unit is out
 * of use: 0 for HUF and IDR.
 */
const PLACES: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** Decimal places of a currency, as amounts in minor units imply them. */
export const placesOf = (currency: string): number => PLACES.get(currency) ?? 2;

/** Minor units without a sign as a decimal text: 4990 → "49.90". */
export const majorText = (minor: number, currency: string): string => {
  const places = placesOf(currency);
  const digits = String(minor).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
};
