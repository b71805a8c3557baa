import type { ReactNode } from 'react';
import { Button, Filters, PageLinks, TimeFilter, useFilters } from '../../kit/index.ts';

/** The parameters of a report, as in the address of the page. */
export interface ReportQuery {
  /** First and last day, `YYYY-MM-DD`; an empty text: the default of the report. */
  readonly from: string;
  readonly to: string;
  readonly currency: string;
  /** The report as it stood at this position of the log; an empty text: now. */
  readonly position: string;
}

/** The values of the address, and a function that changes them without a new step in the history. */
export const useReportQuery = (): [ReportQuery, (change: Partial<ReportQuery>) => void] => {
  const { of, change } = useFilters(['from', 'to', 'currency', 'as_of_position']);
  return [
    { from: of('from'), to: of('to'), currency: of('currency'), position: of('as_of_position') },
    ({ position, ...rest }) =>
      change({ ...rest, ...(position === undefined ? {} : { as_of_position: position }) }),
  ];
};

/** The parts of a query that are set, as the API names them. */
export const givenOf = ({ from, to, currency, position }: ReportQuery) => ({
  ...(from === '' ? {} : { from }),
  ...(to === '' ? {} : { to }),
  ...(currency === '' ? {} : { currency }),
  ...(position === '' ? {} : { as_of_position: position }),
});

export interface Days {
  /** First and last day; null or undefined: without a bound. */
  readonly from?: string | null;
  readonly to?: string | null;
}

/** Path of the journal entries that make up a figure: of one account, or of all accounts (undefined). */
export const entriesPath = (account: string | undefined, { from, to }: Days): string => {
  const query = new URLSearchParams(account === undefined ? {} : { account });
  if (from) query.set('from', from);
  if (to) query.set('to', to);
  return `/ledger/entries?${query}`;
};

/** Path of a report of other days, in the currency and at the position of a query. */
export const reportPath = (
  report: 'trial-balance' | 'pnl' | 'balance-sheet',
  { currency, position }: ReportQuery,
  { from, to }: Days,
): string => {
  const days = givenOf({ from: from ?? '', to: to ?? '', currency, position });
  return `/ledger?${new URLSearchParams({ report, ...days })}`;
};

/** The day before a day of the calendar. */
export const dayBefore = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);

interface RangeFieldsProps {
  readonly query: ReportQuery;
  readonly change: (change: Partial<ReportQuery>) => void;
  /** Without a first day, for reports as of one day. */
  readonly asOf?: boolean;
  readonly children?: ReactNode;
}

/** Fields for the range of a report, and for an earlier position at which it is shown. */
export const RangeFields = ({ query, change, asOf = false, children }: RangeFieldsProps) => (
  <Filters label="Range of the report">
    {asOf ? null : <TimeFilter label="From" value={query.from} onChange={(from) => change({ from })} />}
    <TimeFilter label={asOf ? 'As of' : 'To'} value={query.to} onChange={(to) => change({ to })} />
    {query.from === '' && query.to === '' ? null : (
      <Button size="small" tone="ghost" onClick={() => change({ from: '', to: '' })}>
        Clear days
      </Button>
    )}
    {children}
    {query.position === '' ? null : (
      <p className="ledger-then">
        As it stood at position <code>{query.position}</code> of the log.{' '}
        <Button size="small" onClick={() => change({ position: '' })}>
          Show the current state
        </Button>
      </p>
    )}
  </Filters>
);

/** The pages above an entry. */
export const ENTRY_CRUMBS = [
  ['/ledger', 'Ledger'],
  ['/ledger/entries', 'Entries'],
] as const;

const PAGES = [
  ['/ledger', 'Reports'],
  ['/ledger/entries', 'Entries'],
  ['/ledger/accounts', 'Accounts'],
  ['/ledger/rules', 'Posting rules'],
  ['/ledger/failures', 'Failures'],
] as const;

/** Links between the pages of the ledger. */
export const LedgerLinks = () => <PageLinks label="Ledger" pages={PAGES} />;
