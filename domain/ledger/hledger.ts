import type { Account, AccountType } from './account.ts';
import type { Content, Line } from './content.ts';
import { majorText, minorDigits } from './money.ts';

/**
 * Writes the journal as hledger text. Names and memos are cleaned of hledger syntax: in a comment, `date:` and
 * brackets would move a posting to another day.
 */

const ROOTS: Readonly<Record<AccountType, string>> = {
  Asset: 'Assets',
  Liability: 'Liabilities',
  Equity: 'Equity',
  Revenue: 'Revenues',
  Expense: 'Expenses',
};

/** One line, without double spaces (which end an account's name) and without starts of comments, tags or dates. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{White_Space}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[;:[\]|"]/g, '-')
    .trim();

export type NamedAccount = Pick<Account, 'code' | 'name' | 'type'>;

/** The account's name in hledger; unique, because the name contains the code. */
export const hledgerAccount = ({ code, name, type }: NamedAccount): string =>
  `${ROOTS[type]}:${code} ${plain(name)}`.trimEnd();

/** The start of the file: format of amounts, and the chart. */
export const hledgerPreamble = (accounts: readonly NamedAccount[], currencies: readonly string[]): string =>
  [
    'decimal-mark .',
    ...currencies.map((code) => `commodity 1000.${'0'.repeat(minorDigits(code))} ${code}`),
    '',
    ...accounts.map((account) => `account ${hledgerAccount(account)}`),
    '',
  ].join('\n');

/** @param nameOf maps a code to the account's {@link hledgerAccount} */
export const hledgerEntry = (
  entry: Omit<Content, 'lines'> & { readonly number: number; readonly lines: readonly Line[] },
  nameOf: (code: string) => string,
): string => {
  const head = `${entry.date} * (${entry.number}) ${plain(entry.memo)}`.trimEnd();
  const lines = entry.lines.map(({ account_code, debit, credit, memo }) => {
    const amount = majorText(BigInt(debit) - BigInt(credit), entry.currency);
    const comment = memo === undefined || plain(memo) === '' ? '' : `  ; ${plain(memo)}`;
    return `    ${nameOf(account_code)}  ${amount} ${entry.currency}${comment}`;
  });
  return `\n${[head, ...lines].join('\n')}\n`;
};
