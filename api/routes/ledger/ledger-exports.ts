import { Readable } from 'node:stream';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import { every, type Page, type PageRequest } from '../../../domain/core/projection.ts';
import { hledgerAccount, hledgerEntry, hledgerPreamble } from '../../../domain/ledger/hledger.ts';
import { type AccountDoc, wholeChart } from '../../../projections/ledger/ledger.ts';
import { currenciesOf } from '../../../projections/ledger/ledger-balances.ts';
import {
  type EntryDoc,
  entriesOf,
  lastNumber,
  postedEntries,
} from '../../../projections/ledger/ledger-entries.ts';
import { SUMS, type TrialBalance, trialBalance } from '../../../projections/ledger/ledger-reports.ts';
import { type Columns, CSV_TYPE, csvBody, csvHead, csvRows } from '../../http/csv.ts';
import type { Route } from '../../http/route.ts';
import { download, textAnswer } from '../replies.ts';
import { personRoute } from '../route-kinds.ts';
import { entryFilter, requireRange } from './ledger-entries.ts';
import { type ReportDeps, rangeOf, rangeQuery, reportBytes } from './ledger-reports.ts';
import { GL, LEDGER_READS, ledgerRoutes, REPORTS } from './ledger-views.ts';

/** A small page, because an entry may have a thousand lines. */
const PAGE = 100;

/** The name of an account by its code. */
type NameOf = (code: string) => string;

const namesIn = (chart: readonly AccountDoc[], name: (account: AccountDoc) => string): NameOf => {
  const names = new Map(chart.map((account) => [account.code_key, name(account)]));
  return (code) => names.get(code.toLowerCase()) ?? code;
};

/** A line of an entry, with its index. */
interface LineOf {
  readonly entry: EntryDoc;
  readonly line: EntryDoc['lines'][number];
  readonly index: number;
}

const entryColumns = (nameOf: NameOf): Columns<LineOf> => ({
  number: ({ entry }) => entry.number,
  id: ({ entry }) => entry.id,
  state: ({ entry }) => entry.state,
  date: ({ entry }) => entry.date,
  memo: ({ entry }) => entry.memo,
  currency: ({ entry }) => entry.currency,
  line_no: ({ index }) => index + 1,
  account_code: ({ line }) => line.account_code,
  account_name: ({ line }) => line.account_name ?? nameOf(line.account_code),
  debit: ({ line }) => line.debit,
  credit: ({ line }) => line.credit,
  line_memo: ({ line }) => line.memo,
  source_kind: ({ entry }) => entry.source.kind,
  reversal_of: ({ entry }) => entry.reversal_of,
  reversed_by: ({ entry }) => entry.reversed_by,
  created_at: ({ entry }) => entry.created_at,
  posted_at: ({ entry }) => entry.posted_at,
});

/** Lines printed in one step. */
const STEP = 100;

function* csvOf(entry: EntryDoc, columns: Columns<LineOf>): Generator<string> {
  for (let first = 0; first < entry.lines.length; first += STEP) {
    const lines = entry.lines.slice(first, first + STEP);
    yield csvBody(
      columns,
      lines.map((line, nth) => ({ entry, line, index: first + nth })),
    );
  }
}

const csvOfTrialBalance = ({ accounts, totals, currency }: TrialBalance): string =>
  csvRows([
    ['code', 'name', 'type', 'currency', ...SUMS],
    ...accounts.map((row) => [row.code, row.name, row.type, currency, ...SUMS.map((key) => row[key])]),
    ['', 'Total', '', currency, ...SUMS.map((key) => totals[key])],
  ]);

async function* inPages(
  tenantId: string,
  head: string,
  find: (page: PageRequest) => Promise<Page<EntryDoc>>,
  print: (entry: EntryDoc) => Iterable<string>,
): AsyncGenerator<string> {
  yield head;
  const slice = timeSlices.of(tenantId, 'exportLedger');
  const inSlices = async (page: PageRequest) => {
    await slice.next();
    return find(page);
  };
  for await (const entry of every(inSlices, PAGE)) {
    for (const text of print(entry)) {
      yield text;
      await slice.pause();
    }
  }
}

/** Exports of the ledger (decisions, section 9). Entries are read page by page while they are sent. */
export const ledgerExportRoutes = (deps: ReportDeps): Route[] => {
  const reader = deps.readModels.reader('ledger');

  return ledgerRoutes([
    personRoute({
      ...textAnswer('text/csv'),
      reads: LEDGER_READS,
      path: `${GL}/entries.csv`,
      operationId: 'exportEntries',
      expensive: true,
      summary: 'Entries as CSV, one row for each line, newest date first; amounts in minor units',
      description: 'The filters are those of the list of entries.',
      query: entryFilter,
      handle: async ({ principal, query }) => {
        requireRange(query);
        const { tenantId } = principal;
        const columns = entryColumns(namesIn(await wholeChart(reader, tenantId), ({ name }) => name));
        const pages = inPages(
          tenantId,
          csvHead(columns),
          (page) => entriesOf(reader, tenantId, query, page),
          (entry) => csvOf(entry, columns),
        );
        return download('entries.csv', CSV_TYPE, Readable.from(pages));
      },
    }),

    personRoute({
      ...textAnswer('text/csv'),
      reads: LEDGER_READS,
      path: `${REPORTS}/trial-balance.csv`,
      operationId: 'exportTrialBalance',
      summary: 'The trial balance as CSV; amounts in minor units',
      description: 'The same rows as the trial balance, for a spreadsheet.',
      query: rangeQuery,
      handle: async ({ principal, query }) => {
        const { tenantId } = principal;
        const range = await rangeOf(deps, tenantId, query);
        const report = { form: 'trial-balance.csv', range, asOf: query.as_of_position };
        const bytes = await reportBytes(deps, tenantId, report, (balances) =>
          csvOfTrialBalance(trialBalance(balances, range)),
        );
        return download('trial-balance.csv', CSV_TYPE, bytes);
      },
    }),

    personRoute({
      ...textAnswer('text/plain'),
      reads: LEDGER_READS,
      path: `${GL}/journal.hledger`,
      operationId: 'exportJournal',
      expensive: true,
      summary: 'All posted entries as a plain-text journal that hledger reads, by number',
      description: 'Pipe it to `hledger -f -` to check the balances with an independent program.',
      handle: async ({ principal }) => {
        const { tenantId } = principal;
        // The last number is read first: the header then declares every account and currency of the entries up to
        // this number, even if more entries are posted meanwhile.
        const last = await lastNumber(reader, tenantId);
        const chart = await wholeChart(reader, tenantId);
        const currencies = await currenciesOf(reader, tenantId);
        const nameOf = namesIn(chart, hledgerAccount);
        const pages = inPages(
          tenantId,
          hledgerPreamble(chart, currencies),
          (page) => postedEntries(reader, tenantId, last, page),
          (entry) => [hledgerEntry({ ...entry, number: entry.number ?? 0 }, nameOf)],
        );
        return download('journal.hledger', 'text/plain; charset=utf-8', Readable.from(pages));
      },
    }),
  ]);
};
