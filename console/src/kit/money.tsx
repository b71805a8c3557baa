import { Link } from 'wouter';
import { majorText, placesOf } from './currency.ts';

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
