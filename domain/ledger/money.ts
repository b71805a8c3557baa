import { halfEven } from '../core/half-even.ts';

/**
 * Money is an integer of minor units with an ISO 4217 currency (decisions, section 9). The total of one entry fits a
 * safe integer; a sum over many entries can be larger, and is then a text of decimal digits.
 */

/** Maximum of one amount and of one entry's total. */
export const MAX_MONEY = Number.MAX_SAFE_INTEGER;

export const CURRENCY = /^[A-Z]{3}$/;

/**
 * Codes of ISO 4217, table A.1 (with metals, funds, and the codes for tests and for no currency), and codes recently
 * moved to table A.3.
 */
const CURRENCIES: ReadonlySet<string> = new Set(
  (
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF ' +
    'CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD ' +
    'GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP ' +
    'LKR LRD LSL LTL LVL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR ' +
    'PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL ' +
    'THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB ' +
    'XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL'
  ).split(' '),
);

/** Whether a code is known. Entries in an unknown currency would be in no report. */
export const isCurrency = (code: string): boolean => CURRENCIES.has(code);

/** A stored sum: a number if the number is exact, otherwise a text of decimal digits. */
export type Sum = number | string;

export const sumOf = (value: bigint): Sum => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
};

export const plus = (sum: Sum = 0, amount: number): Sum => sumOf(BigInt(sum) + BigInt(amount));

/** Decimal places other than 2 (ISO 4217, table A.1); codes without a number there, such as metals, have 2 here. */
const DIGITS: ReadonlyMap<string, number> = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);

/** Decimal places of the currency's major unit. */
export const minorDigits = (currency: string): number => DIGITS.get(currency) ?? 2;

/** Minor units as exact decimal text of major units, with all decimal places of the currency. */
export const majorText = (minor: bigint, currency: string): string => {
  const digits = minorDigits(currency);
  const sign = minor < 0n ? '-' : '';
  const text = (minor < 0n ? -minor : minor).toString().padStart(digits + 1, '0');
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
};

/** Thrown when a value is not an amount; posting rules take amounts from payloads. */
export class AmountProblem extends Error {
  override readonly name = 'AmountProblem';
  readonly code: 'invalid_amount' | 'negative_amount';

  constructor(code: AmountProblem['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const DECIMAL_TEXT = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?$/;
/** Bounds the work for a text; no amount needs a longer text. */
const MAX_CHARACTERS = 60;

const invalid = (message: string): AmountProblem => new AmountProblem('invalid_amount', message);

/**
 * Reads an integer as minor units, and a text as a decimal of major units; digits beyond the currency's decimal
 * places must be zeros.
 * @returns minor units, 0 or more
 * @throws {AmountProblem}
 */
export const minorUnits = (value: unknown, currency: string): bigint => {
  const minor = typeof value === 'string' ? fromMajor(value, currency) : fromMinor(value);
  if (minor < 0n) throw new AmountProblem('negative_amount', 'an amount must not be negative');
  return atMost(minor);
};

/** @throws {AmountProblem} above 2^53 - 1 */
export const atMost = (minor: bigint): bigint => {
  if (minor > MAX_MONEY) throw invalid('an amount must be at most 2^53 - 1 minor units');
  return minor;
};

const fromMinor = (value: unknown): bigint => {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (value === undefined || value === null) throw invalid('there is no value');
  throw invalid('this is neither a whole number of minor units nor a decimal string of major units');
};

const fromMajor = (text: string, currency: string): bigint => {
  const parts = text.length > MAX_CHARACTERS ? null : DECIMAL_TEXT.exec(text);
  if (parts === null) throw invalid('this string is not a decimal number');
  const [, sign = '', whole = '', fraction = ''] = parts;
  const digits = minorDigits(currency);
  if (/[1-9]/.test(fraction.slice(digits))) {
    throw invalid(`${currency} has ${digits} decimal places, and the number has more`);
  }
  return BigInt(`${sign}${whole}${fraction.slice(0, digits).padEnd(digits, '0')}`);
};

/** Decimal places of a percentage. */
export const PERCENT_PLACES = 6;
export const MAX_PERCENT = 100;

/** Above 0, at most 100, at most six decimal places. */
export const isPercent = (percent: number): boolean =>
  percent > 0 && percent <= MAX_PERCENT && Number(percent.toFixed(PERCENT_PLACES)) === percent;

/** @param base minor units, 0 or more @param percent accepted by {@link isPercent} @returns minor units, half-even */
export const percentOf = (base: bigint, percent: number): bigint => {
  const scaled = BigInt(percent.toFixed(PERCENT_PLACES).replace('.', ''));
  return halfEven(base * scaled, 100n * 10n ** BigInt(PERCENT_PLACES));
};
