import type { AccountType } from './account.ts';
import { majorText, minorDigits } from './money.ts';

/**
 * The journal as plain text that hledger reads. Names and memos are cleaned of hledger's syntax: in a comment, `date:`
 * and brackets would move a posting to another day.
 */

const ROOTS: Readonly<Record<AccountType, string>> = {
  Asset: 'Assets',
  Liability: 'Liabilities',
  Equity: 'Equity',
  Revenue: 'Revenues',
  Expense: 'Expenses',
};

/** One line, without doubled spaces (which end an account's name) and without what begins a comment, a tag or a date. */
const plain = (text: string): string =>
  text
    .replaceAll(/[\p{White_Space}\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll(/[;:[\]|"]/g, '-')
    .trim();

export interface NamedAccount {
  readonly code: string;
  readonly name: string;
  readonly type: AccountType;
}

/** Unique because the code is. */
export const hledgerAccount = ({ code, name, type }: NamedAccount): string =>
  `${ROOTS[type]}:${code} ${plain(name)}`.trimEnd();

/** What comes first: how amounts are written, and the chart. */
export const hledgerHead = (accounts: readonly NamedAccount[], currencies: readonly string[]): string =>
  [
    'decimal-mark .',
    ...currencies.map((code) => `commodity 1000.${'0'.repeat(minorDigits(code))} ${code}`),
    '',
    ...accounts.map((account) => `account ${hledgerAccount(account)}`),
    '',
  ].join('\n');

export interface HledgerEntry {
  readonly number: number;
  readonly date: string;
  readonly memo: string;
  readonly currency: string;
  readonly lines: readonly {
    readonly account_code: string;
    readonly debit: number;
    readonly credit: number;
    readonly memo?: string | undefined;
  }[];
}

/** @param nameOf the account of a code, as {@link hledgerAccount} */
export const hledgerEntry = (entry: HledgerEntry, nameOf: (code: string) => string): string => {
  const head = `${entry.date} * (${entry.number}) ${plain(entry.memo)}`.trimEnd();
  const lines = entry.lines.map(({ account_code, debit, credit, memo }) => {
    const amount = majorText(BigInt(debit) - BigInt(credit), entry.currency);
    const comment = memo === undefined || plain(memo) === '' ? '' : `  ; ${plain(memo)}`;
    return `    ${nameOf(account_code)}  ${amount} ${entry.currency}${comment}`;
  });
  return `\n${[head, ...lines].join('\n')}\n`;
};
