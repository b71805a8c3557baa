import type { DocumentReader } from '../../domain/core/projection.ts';
import type { AccountType } from '../../domain/ledger/account.ts';
import { type AccountDoc, LAST_CHANGE, type LastChange, WHOLE_CHART } from './ledger.ts';
import { balanceQueries, type Pause, type Turnover, type Turnovers, turnoversIn } from './ledger-balances.ts';

/** Reports (decisions, section 9). Amounts are exact sums in minor units, with the usual sign of the account type. */

const NONE: Turnover = { debit: 0n, credit: 0n };
/** Summed columns of a trial balance, in order. */
export const SUMS = [
  'opening_debit',
  'opening_credit',
  'debit',
  'credit',
  'closing_debit',
  'closing_credit',
] as const;

type Sums = Readonly<Record<(typeof SUMS)[number], bigint>>;

const positive = (amount: bigint): bigint => (amount > 0n ? amount : 0n);
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, each) => all + each, 0n);

/** The input of a report: chart by code, turnovers before a range of days, turnovers up to the end of the range. */
export interface Balances {
  readonly chart: readonly Pick<AccountDoc, 'code' | 'code_key' | 'name' | 'type'>[];
  readonly before: Turnovers;
  readonly through: Turnovers;
}

/** Range of a report in one currency; without `from`, all days up to `to`. */
export interface Range {
  readonly currency: string;
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads chart and balances together, so that a report sees each posting wholly or not at all.
 * @returns also the position of the journal's last event that the balances include
 */
export const presentBalances = async (
  reader: DocumentReader,
  tenantId: string,
  { currency, ...days }: Range,
  pause: Pause = () => undefined,
): Promise<Balances & { readonly lastChange: string | undefined }> => {
  const queries = [LAST_CHANGE, WHOLE_CHART, ...balanceQueries(currency, days)];
  const [changes = [], chart = [], ...balances] = await reader.findAll(tenantId, queries);
  // These collections hold only documents of types `LastChange` and `AccountDoc`.
  const [last] = changes as readonly unknown[] as readonly LastChange[];
  return {
    lastChange: last?.position,
    chart: chart as readonly unknown[] as readonly AccountDoc[],
    ...(await turnoversIn(balances, days, pause)),
  };
};

export const trialBalance = ({ chart, before, through }: Balances, { currency, from, to }: Range) => {
  const accounts = chart.flatMap(({ code, code_key, name, type }) => {
    const closing = through.get(code_key);
    if (closing === undefined) return [];
    const opening = before.get(code_key) ?? NONE;
    const sums: Sums = {
      opening_debit: positive(opening.debit - opening.credit),
      opening_credit: positive(opening.credit - opening.debit),
      debit: closing.debit - opening.debit,
      credit: closing.credit - opening.credit,
      closing_debit: positive(closing.debit - closing.credit),
      closing_credit: positive(closing.credit - closing.debit),
    };
    return [{ code, name, type, ...sums }];
  });
  const total = (column: keyof Sums): bigint => sum(accounts.map((row) => row[column]));
  const totals: Sums = {
    opening_debit: total('opening_debit'),
    opening_credit: total('opening_credit'),
    debit: total('debit'),
    credit: total('credit'),
    closing_debit: total('closing_debit'),
    closing_credit: total('closing_credit'),
  };
  const balanced =
    totals.opening_debit === totals.opening_credit &&
    totals.debit === totals.credit &&
    totals.closing_debit === totals.closing_credit;
  return { currency, from: from ?? null, to, accounts, totals, balanced };
};
export type TrialBalance = ReturnType<typeof trialBalance>;

/** Report lines of all accounts of one type that have a turnover in `turnovers`. */
const linesOf = (chart: Balances['chart'], type: AccountType, turnovers: Turnovers) =>
  chart.flatMap(({ code, code_key, name, type: its }) => {
    const turnover = its === type ? turnovers.get(code_key) : undefined;
    if (turnover === undefined) return [];
    const net = turnover.debit - turnover.credit;
    return [{ code, name, amount: type === 'Asset' || type === 'Expense' ? net : -net }];
  });

const totalOf = (lines: ReturnType<typeof linesOf>): bigint => sum(lines.map(({ amount }) => amount));

type Closed = Range & { readonly from: string };

/** Omits accounts without a turnover in the range. */
export const profitAndLoss = ({ chart, before, through }: Balances, { currency, from, to }: Closed) => {
  const moved = new Map<string, Turnover>();
  for (const [account, all] of through) {
    const earlier = before.get(account) ?? NONE;
    const turnover = { debit: all.debit - earlier.debit, credit: all.credit - earlier.credit };
    if (turnover.debit !== 0n || turnover.credit !== 0n) moved.set(account, turnover);
  }
  const revenue = linesOf(chart, 'Revenue', moved);
  const expenses = linesOf(chart, 'Expense', moved);
  const [total_revenue, total_expenses] = [totalOf(revenue), totalOf(expenses)];
  const net_income = total_revenue - total_expenses;
  return { currency, from, to, revenue, expenses, total_revenue, total_expenses, net_income };
};

export const balanceSheet = (
  { chart, through }: Balances,
  { currency, asOf }: { currency: string; asOf: string },
) => {
  const assets = linesOf(chart, 'Asset', through);
  const liabilities = linesOf(chart, 'Liability', through);
  const equity = linesOf(chart, 'Equity', through);
  /** All revenue less all expenses up to `asOf`, a part of the equity. */
  const current_earnings =
    totalOf(linesOf(chart, 'Revenue', through)) - totalOf(linesOf(chart, 'Expense', through));
  const [total_assets, total_liabilities] = [totalOf(assets), totalOf(liabilities)];
  const total_equity = totalOf(equity) + current_earnings;
  return {
    currency,
    as_of: asOf,
    assets,
    liabilities,
    equity,
    current_earnings,
    total_assets,
    total_liabilities,
    total_equity,
    balanced: total_assets === total_liabilities + total_equity,
  };
};
