import { Link } from 'wouter';

/** Decimal places of a currency, as amounts in minor units imply them. */
export const placesOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;

/** Minor units without a sign as a decimal text: 4990 → "49.90". */
export const majorText = (minor: number, currency: string): string => {
  const places = placesOf(currency);
  const digits = String(minor).padStart(places + 1, '0');
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
};

/** An amount in minor units as a text of its currency: 123456, "EUR" → "1,234.56". */
export const moneyText = (minor: number, currency: string): string => {
  const digits = placesOf(currency);
  const format = new Intl.NumberFormat(undefined, {
    style: 'currency',
    currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  const major = majorText(Math.abs(minor), currency);
  // A decimal text keeps every digit, where a division would round.
  return format.format((minor < 0 ? `-${major}` : major) as Intl.StringNumericLiteral);
};

export interface MoneyProps {
  readonly minor: number;
  readonly currency: string;
  /** The page that the amount comes from. */
  readonly to?: string | undefined;
}

export const Money = ({ minor, currency, to }: MoneyProps) => {
  const text = moneyText(minor, currency);
  return to === undefined ? (
    <span className="number">{text}</span>
  ) : (
    <Link href={to} className="number">
      {text}
    </Link>
  );
};
