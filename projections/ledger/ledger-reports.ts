import type { DocumentReader } from '../../domain/core/projection.ts';
import type { AccountType } from '../../domain/ledger/account.ts';
import { type AccountDoc, LAST_CHANGE, type LastChange, WHOLE_CHART } from './ledger.ts';
import { balanceQueries, type Turnover, type Turnovers, turnoversIn } from './ledger-balances.ts';

/** Reports (decisions, section 9). Amounts are exact sums in minor units, with the usual sign of the account type. */

export interface TrialBalanceSums {
  readonly opening_debit: bigint;
  readonly opening_credit: bigint;
  readonly debit: bigint;
  readonly credit: bigint;
  readonly closing_debit: bigint;
  readonly closing_credit: bigint;
}

export interface TrialBalanceRow extends TrialBalanceSums {
  readonly code: string;
  readonly name: string;
  readonly type: AccountType;
}

export interface TrialBalance {
  readonly currency: string;
  readonly from: string | null;
  readonly to: string;
  readonly accounts: readonly TrialBalanceRow[];
  readonly totals: TrialBalanceSums;
  readonly balanced: boolean;
}

export interface ReportLine {
  readonly code: string;
  readonly name: string;
  readonly amount: bigint;
}

export interface ProfitAndLoss {
  readonly currency: string;
  readonly from: string;
  readonly to: string;
  readonly revenue: readonly ReportLine[];
  readonly expenses: readonly ReportLine[];
  readonly total_revenue: bigint;
  readonly total_expenses: bigint;
  readonly net_income: bigint;
}

export interface BalanceSheet {
  readonly currency: string;
  readonly as_of: string;
  readonly assets: readonly ReportLine[];
  readonly liabilities: readonly ReportLine[];
  readonly equity: readonly ReportLine[];
  /** All revenue less all expenses up to `as_of`. */
  readonly current_earnings: bigint;
  readonly total_assets: bigint;
  readonly total_liabilities: bigint;
  /** Includes {@link current_earnings}. */
  readonly total_equity: bigint;
  readonly balanced: boolean;
}

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

/** Balances, and the position of the journal's last event that the balances include. */
export interface PresentBalances extends Balances {
  readonly lastChange: string | undefined;
}

/** Reads chart and balances together, so that a report sees each posting wholly or not at all. */
export const presentBalances = async (
  reader: DocumentReader,
  tenantId: string,
  { currency, ...days }: Range,
): Promise<PresentBalances> => {
  const queries = [LAST_CHANGE, WHOLE_CHART, ...balanceQueries(currency, days)];
  const [changes = [], chart = [], ...balances] = await reader.findAll(tenantId, queries);
  // These collections hold only documents of types `LastChange` and `AccountDoc`.
  const [last] = changes as readonly unknown[] as readonly LastChange[];
  return {
    lastChange: last?.position,
    chart: chart as readonly unknown[] as readonly AccountDoc[],
    ...turnoversIn(balances, days),
  };
};

export const trialBalance = (
  { chart, before, through }: Balances,
  { currency, from, to }: Range,
): TrialBalance => {
  const accounts = chart.flatMap((account): TrialBalanceRow[] => {
    const closing = through.get(account.code_key);
    if (closing === undefined) return [];
    const opening = before.get(account.code_key) ?? NONE;
    const { code, name, type } = account;
    return [
      {
        code,
        name,
        type,
        opening_debit: positive(opening.debit - opening.credit),
        opening_credit: positive(opening.credit - opening.debit),
        debit: closing.debit - opening.debit,
        credit: closing.credit - opening.credit,
        closing_debit: positive(closing.debit - closing.credit),
        closing_credit: positive(closing.credit - closing.debit),
      },
    ];
  });
  const [
    opening_debit = 0n,
    opening_credit = 0n,
    debit = 0n,
    credit = 0n,
    closing_debit = 0n,
    closing_credit = 0n,
  ] = SUMS.map((key) => sum(accounts.map((row) => row[key])));
  return {
    currency,
    from: from ?? null,
    to,
    accounts,
    totals: { opening_debit, opening_credit, debit, credit, closing_debit, closing_credit },
    balanced: opening_debit === opening_credit && debit === credit && closing_debit === closing_credit,
  };
};

/** Report lines of all accounts of one type that have a turnover in `turnovers`. */
const linesOf = (chart: Balances['chart'], type: AccountType, turnovers: Turnovers): readonly ReportLine[] =>
  chart.flatMap(({ code, code_key, name, type: its }): ReportLine[] => {
    const turnover = its === type ? turnovers.get(code_key) : undefined;
    if (turnover === undefined) return [];
    const net = turnover.debit - turnover.credit;
    return [{ code, name, amount: type === 'Asset' || type === 'Expense' ? net : -net }];
  });

const totalOf = (lines: readonly ReportLine[]): bigint => sum(lines.map(({ amount }) => amount));

type Closed = Range & { readonly from: string };

/** Omits accounts without a turnover in the range. */
export const profitAndLoss = (
  { chart, before, through }: Balances,
  { currency, from, to }: Closed,
): ProfitAndLoss => {
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
): BalanceSheet => {
  const assets = linesOf(chart, 'Asset', through);
  const liabilities = linesOf(chart, 'Liability', through);
  const equity = linesOf(chart, 'Equity', through);
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
