import { z } from 'zod';
import type { LoggedEvent, RecordedEvent } from '../../application/codec.ts';
import { ACCOUNT_TYPES } from '../../domain/ledger/account.ts';
import { yearStart } from '../../domain/ledger/dates.ts';
import { JOURNAL_ID, type JournalEvent, journalDecider } from '../../domain/ledger/journal.ts';
import { booksAsOf } from '../../projections/ledger-as-of.ts';
import { recordedBefore } from '../../projections/ledger-recorded.ts';
import {
  type Books,
  balanceSheetFrom,
  presentBooks,
  profitAndLossFrom,
  type Range,
  type TrialBalance,
  trialBalanceFrom,
} from '../../projections/ledger-reports.ts';
import type { Route } from '../http/route.ts';
import { position } from '../http/schemas.ts';
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

const asOfPosition = position.optional().meta({
  description: 'The report as it stood at this place in the log: what was recorded later is not in it.',
});

export const rangeQuery = z.object({
  from: day.optional(),
  to: day.optional(),
  currency: currencyCode.optional(),
  as_of_position: asOfPosition,
});

const later = (a: string, b: string | undefined): string => (b !== undefined && b > a ? b : a);

/** Through today unless said otherwise. @throws 400 */
export const trialBalanceOf = async (
  app: App,
  tenantId: string,
  query: z.output<typeof rangeQuery>,
): Promise<TrialBalance> => {
  requireRange(query);
  const { today, currency } = await app.ledger.settings(tenantId);
  const range = {
    currency: query.currency ?? currency,
    from: query.from,
    to: query.to ?? later(today, query.from),
  };
  return trialBalanceFrom(await booksOf(app, tenantId, range, query.as_of_position), range);
};

/** From the read model; as they once stood, with the journal's help (docs/decisions/0019-reports-as-of-a-position.md). */
const booksOf = async (
  app: App,
  tenantId: string,
  range: Range,
  asOf: string | undefined,
): Promise<Books> => {
  const reader = app.readModels.reader('ledger');
  if (asOf === undefined) return presentBooks(reader, tenantId, range);
  const place = await app.timeTravel.placeOf(asOf, 'as_of_position');
  const folded = await reader.checkpoint(tenantId);
  const recorded = await recordedBefore(reader, tenantId, range.currency, place, folded);
  const { add, books } = booksAsOf(range, recorded);
  const journal = { tenantId, category: journalDecider.category, id: JOURNAL_ID };
  // The stream's name says which events it holds.
  const visit = (event: LoggedEvent) => add(event as RecordedEvent<JournalEvent>);
  await app.timeTravel.through(journal, place, visit, recorded.next);
  return books();
};

export const ledgerReportRoutes = (app: App): Route[] => {
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
        const books = await booksOf(app, principal.tenantId, wanted, query.as_of_position);
        return { status: 200, body: withMoney(profitAndLossFrom(books, wanted)) };
      },
    }),

    personRoute({
      ...of,
      path: `${REPORTS}/balance-sheet`,
      operationId: 'balanceSheet',
      summary: 'Assets, liabilities and equity with current earnings, as of today unless said otherwise',
      query: z.object({
        as_of: day.optional(),
        currency: currencyCode.optional(),
        as_of_position: asOfPosition,
      }),
      responses: { 200: balanceSheetView },
      handle: async ({ principal, query }) => {
        const { today, currency } = await app.ledger.settings(principal.tenantId);
        const wanted = { currency: query.currency ?? currency, asOf: query.as_of ?? today };
        const range = { currency: wanted.currency, from: undefined, to: wanted.asOf };
        const books = await booksOf(app, principal.tenantId, range, query.as_of_position);
        return { status: 200, body: withMoney(balanceSheetFrom(books, wanted)) };
      },
    }),
  ];
};
