import { z } from 'zod';
import { ACCOUNT_TYPES } from '../../domain/ledger/account.ts';
import { yearStart } from '../../domain/ledger/dates.ts';
import {
  balanceSheet,
  profitAndLoss,
  type TrialBalance,
  trialBalance,
} from '../../projections/ledger-reports.ts';
import type { Route } from '../http/route.ts';
import type { App } from './app.ts';
import { personRoute } from './kinds.ts';
import { requireRange } from './ledger-entries.ts';
import { currencyCode, day, LEDGER_READS, LEDGER_TAG, money, REPORTS, withMoney } from './ledger-views.ts';

/** Reports of the ledger (decisions, section 9). Each is of one currency: the tenant's unless named. */

const sums = {
  opening_debit: money,
  opening_credit: money,
  debit: money,
  credit: money,
  closing_debit: money,
  closing_credit: money,
};

const trialBalanceView = z.object({
  currency: z.string(),
  from: day.nullable(),
  to: day,
  accounts: z.array(z.object({ code: z.string(), name: z.string(), type: z.enum(ACCOUNT_TYPES), ...sums })),
  totals: z.object(sums),
  balanced: z.boolean(),
});

const lines = z.array(z.object({ code: z.string(), name: z.string(), amount: money }));

const profitAndLossView = z.object({
  currency: z.string(),
  from: day,
  to: day,
  revenue: lines,
  expenses: lines,
  total_revenue: money,
  total_expenses: money,
  net_income: money,
});

const balanceSheetView = z.object({
  currency: z.string(),
  as_of: day,
  assets: lines,
  liabilities: lines,
  equity: lines,
  current_earnings: money,
  total_assets: money,
  total_liabilities: money,
  total_equity: money,
  balanced: z.boolean(),
});

export const rangeQuery = z.object({
  from: day.optional(),
  to: day.optional(),
  currency: currencyCode.optional(),
});

type Range = z.output<typeof rangeQuery>;

const later = (a: string, b: string | undefined): string => (b !== undefined && b > a ? b : a);

/** Through today unless said otherwise. @throws 400 */
export const trialBalanceOf = async (app: App, tenantId: string, query: Range): Promise<TrialBalance> => {
  requireRange(query);
  const { today, currency } = await app.ledger.settings(tenantId);
  return trialBalance(app.readModels.reader('ledger'), tenantId, {
    currency: query.currency ?? currency,
    from: query.from,
    to: query.to ?? later(today, query.from),
  });
};

export const ledgerReportRoutes = (app: App): Route[] => {
  const reader = app.readModels.reader('ledger');
  const of = { tag: LEDGER_TAG, entitlement: 'ledger', method: 'get', reads: LEDGER_READS } as const;

  return [
    personRoute({
      ...of,
      path: `${REPORTS}/trial-balance`,
      operationId: 'trialBalance',
      summary:
        'Opening, movement and closing of every account that has any, through today unless said otherwise',
      query: rangeQuery,
      responses: { 200: trialBalanceView },
      handle: async ({ principal, query }) => ({
        status: 200,
        body: withMoney(await trialBalanceOf(app, principal.tenantId, query)),
      }),
    }),

    personRoute({
      ...of,
      path: `${REPORTS}/pnl`,
      operationId: 'profitAndLoss',
      summary: 'Revenue and expenses, of this calendar year to today unless said otherwise',
      query: rangeQuery,
      responses: { 200: profitAndLossView },
      handle: async ({ principal, query }) => {
        requireRange(query);
        const { today, currency } = await app.ledger.settings(principal.tenantId);
        const to = query.to ?? later(today, query.from);
        const from = query.from ?? yearStart(to);
        const wanted = { currency: query.currency ?? currency, from, to };
        return { status: 200, body: withMoney(await profitAndLoss(reader, principal.tenantId, wanted)) };
      },
    }),

    personRoute({
      ...of,
      path: `${REPORTS}/balance-sheet`,
      operationId: 'balanceSheet',
      summary: 'Assets, liabilities and equity with current earnings, as of today unless said otherwise',
      query: z.object({ as_of: day.optional(), currency: currencyCode.optional() }),
      responses: { 200: balanceSheetView },
      handle: async ({ principal, query }) => {
        const { today, currency } = await app.ledger.settings(principal.tenantId);
        const wanted = { currency: query.currency ?? currency, asOf: query.as_of ?? today };
        return { status: 200, body: withMoney(await balanceSheet(reader, principal.tenantId, wanted)) };
      },
    }),
  ];
};
