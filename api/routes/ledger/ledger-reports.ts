import { z } from 'zod';
import type { TimeTravel } from '../../../application/audit/time-travel.ts';
import type { LoggedEvent, RecordedEvent } from '../../../application/core/events/event-codec.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import { ledgerSettingsOf } from '../../../application/ledger/settings.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { ACCOUNT_TYPES } from '../../../domain/ledger/account.ts';
import { yearStart } from '../../../domain/ledger/dates.ts';
import { JOURNAL_ID, type JournalEvent, journalStream } from '../../../domain/ledger/journal.ts';
import { balancesAsOf } from '../../../projections/ledger/ledger-as-of.ts';
import { recordedBefore } from '../../../projections/ledger/ledger-recorded.ts';
import {
  type Balances,
  balanceSheet,
  profitAndLoss,
  type Range,
  trialBalance,
} from '../../../projections/ledger/ledger-reports.ts';
import { JSON_TYPE } from '../../http/exchange.ts';
import type { Reply, Route } from '../../http/route.ts';
import { position } from '../../http/schemas.ts';
import { personRoute } from '../route-kinds.ts';
import { requireRange } from './ledger-entries.ts';
import { currencyCode, day, LEDGER_READS, ledgerRoutes, money, moneyText, REPORTS } from './ledger-views.ts';
import type { ReportCache } from './report-cache.ts';

export interface ReportDeps {
  readonly directory: Directory;
  readonly clock: Clock;
  readonly readModels: ReadModels;
  readonly timeTravel: TimeTravel;
  readonly reports: ReportCache;
}

const sums = {
  opening_debit: money,
  opening_credit: money,
  debit: money,
  credit: money,
  closing_debit: money,
  closing_credit: money,
};

const trialBalanceView = z
  .object({
    currency: z.string(),
    from: day.nullable(),
    to: day,
    accounts: z.array(z.object({ code: z.string(), name: z.string(), type: z.enum(ACCOUNT_TYPES), ...sums })),
    totals: z.object(sums),
    balanced: z.boolean(),
  })
  .meta({ id: 'TrialBalance' });

const lines = z.array(z.object({ code: z.string(), name: z.string(), amount: money }));

const profitAndLossView = z
  .object({
    currency: z.string(),
    from: day,
    to: day,
    revenue: lines,
    expenses: lines,
    total_revenue: money,
    total_expenses: money,
    net_income: money,
  })
  .meta({ id: 'ProfitAndLoss' });

const balanceSheetView = z
  .object({
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
  })
  .meta({ id: 'BalanceSheet' });

const asOfPosition = position.optional().meta({
  description: 'The report as of this position in the log: later events are not included.',
});

export const rangeQuery = z.object({
  from: day.optional().meta({ description: 'First day.' }),
  to: day.optional().meta({ description: 'Last day.' }),
  currency: currencyCode.optional().meta({ description: 'Default: the currency of the tenant.' }),
  as_of_position: asOfPosition,
});

const later = (a: string, b: string | undefined): string => (b !== undefined && b > a ? b : a);

/** The range of a report. The last day defaults to today, or to `from` if that is later. @throws `validation_failed` */
export const rangeOf = async (
  deps: ReportDeps,
  tenantId: string,
  query: z.output<typeof rangeQuery>,
): Promise<Range> => {
  requireRange(query);
  const { today, currency } = await ledgerSettingsOf(deps, tenantId);
  return {
    currency: query.currency ?? currency,
    from: query.from,
    to: query.to ?? later(today, query.from),
  };
};

/**
 * A report as UTF-8 text: the present report comes from the cache, a report as of a position is computed anew.
 * @param form distinguishes reports of the same range
 */
export const reportBytes = async (
  deps: ReportDeps,
  tenantId: string,
  { form, range, asOf }: { readonly form: string; readonly range: Range; readonly asOf: string | undefined },
  print: (balances: Balances) => string,
): Promise<Uint8Array> =>
  asOf === undefined
    ? deps.reports.present(tenantId, form, range, print)
    : Buffer.from(print(await balancesAt(deps, tenantId, range, asOf)));

/** Balances as of a position, from the read model and the journal (decision 19). */
const balancesAt = async (
  deps: ReportDeps,
  tenantId: string,
  range: Range,
  asOf: string,
): Promise<Balances> => {
  const reader = deps.readModels.reader('ledger');
  const place = await deps.timeTravel.positionOf(asOf, 'as_of_position');
  const folded = await reader.checkpoint(tenantId);
  const recorded = await recordedBefore(reader, tenantId, range.currency, place, folded);
  const { add, balances } = balancesAsOf(range, recorded);
  const journal = { tenantId, category: journalStream.category, id: JOURNAL_ID };
  // The stream holds only events of this type.
  const visit = (event: LoggedEvent) => add(event as RecordedEvent<JournalEvent>);
  await deps.timeTravel.through(journal, place, visit, recorded.next);
  return balances();
};

/** Reports of the ledger (decisions, section 9), each of one currency: the tenant's by default. */
export const ledgerReportRoutes = (deps: ReportDeps): Route[] => {
  const of = { method: 'get', reads: LEDGER_READS } as const;

  const json = async (
    tenantId: string,
    report: Parameters<typeof reportBytes>[2],
    from: (balances: Balances) => unknown,
  ): Promise<Reply> => ({
    status: 200,
    headers: { 'Content-Type': JSON_TYPE },
    body: await reportBytes(deps, tenantId, report, (balances) => moneyText(from(balances))),
  });

  return ledgerRoutes([
    personRoute({
      ...of,
      path: `${REPORTS}/trial-balance`,
      operationId: 'trialBalance',
      summary:
        'Trial balance: opening, movement and closing of each account with movements, by default through today',
      description:
        'Opening and closing balances are net on one side; `debit` and `credit` are gross. Accounts ' +
        'without any movement are left out.',
      query: rangeQuery,
      responses: { 200: trialBalanceView },
      handle: async ({ principal: { tenantId }, query }) => {
        const range = await rangeOf(deps, tenantId, query);
        const report = { form: 'trial-balance', range, asOf: query.as_of_position };
        return json(tenantId, report, (balances) => trialBalance(balances, range));
      },
    }),

    personRoute({
      ...of,
      path: `${REPORTS}/pnl`,
      operationId: 'profitAndLoss',
      summary: 'Income statement: revenue and expenses, by default of this calendar year through today',
      description: 'Both ends of the period are inclusive.',
      query: rangeQuery,
      responses: { 200: profitAndLossView },
      handle: async ({ principal, query }) => {
        const given = await rangeOf(deps, principal.tenantId, query);
        const range = { ...given, from: given.from ?? yearStart(given.to) };
        const report = { form: 'pnl', range, asOf: query.as_of_position };
        return json(principal.tenantId, report, (balances) => profitAndLoss(balances, range));
      },
    }),

    personRoute({
      ...of,
      path: `${REPORTS}/balance-sheet`,
      operationId: 'balanceSheet',
      summary: 'Balance sheet: assets, liabilities and equity with current earnings, by default as of today',
      description: '`total_equity` includes `current_earnings`, so that the two sides are equal.',
      query: z.object({
        as_of: day.optional().meta({ description: 'Last day.' }),
        currency: currencyCode.optional().meta({ description: 'Default: the currency of the tenant.' }),
        as_of_position: asOfPosition,
      }),
      responses: { 200: balanceSheetView },
      handle: async ({ principal, query }) => {
        const { today, currency } = await ledgerSettingsOf(deps, principal.tenantId);
        const wanted = { currency: query.currency ?? currency, asOf: query.as_of ?? today };
        const range = { currency: wanted.currency, from: undefined, to: wanted.asOf };
        const report = { form: 'balance-sheet', range, asOf: query.as_of_position };
        return json(principal.tenantId, report, (balances) => balanceSheet(balances, wanted));
      },
    }),
  ]);
};
