import { Button, Filters, given, PageLinks, TimeFilter, useFilters } from '../../kit/index.ts';

const NAMES = ['from', 'to', 'currency', 'as_of_position'] as const;

/**
 * The parameters of a report, as in the address of the page and in the API. An empty text means the default of the
 * report; for `as_of_position` this is the end of the log.
 */
export type ReportQuery = Readonly<Record<(typeof NAMES)[number], string>>;

/** The values of the address, and a function that changes them without a new step in the history. */
export const useReportQuery = (): [ReportQuery, (change: Partial<ReportQuery>) => void] => {
  const { of, change } = useFilters(NAMES);
  return [
    { from: of('from'), to: of('to'), currency: of('currency'), as_of_position: of('as_of_position') },
    change,
  ];
};

export interface Days {
  /** First and last day; null or undefined: without a bound. */
  readonly from?: string | null;
  readonly to?: string | null;
}

/** Path of the journal entries of the days of a figure, drafts included: of one account, or of all (undefined). */
export const entriesPath = (account: string | undefined, { from, to }: Days): string => {
  const query = given({ account: account ?? '', from: from ?? '', to: to ?? '' });
  return `/ledger/entries?${new URLSearchParams(query)}`;
};

/** Path of a report of other days, in the currency and at the position of a query. */
export const reportPath = (
  report: 'trial-balance' | 'pnl' | 'balance-sheet',
  { currency, as_of_position }: ReportQuery,
  { from, to }: Days,
): string => {
  const query = given({ from: from ?? '', to: to ?? '', currency, as_of_position });
  return `/ledger?${new URLSearchParams({ report, ...query })}`;
};

/** The day before a day of the calendar. */
export const dayBefore = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);

interface RangeFieldsProps {
  readonly query: ReportQuery;
  readonly change: (change: Partial<ReportQuery>) => void;
  /** Without a first day, for reports as of one day. */
  readonly asOf?: boolean;
}

/** Fields for the range of a report, and for an earlier position at which it is shown. */
export const RangeFields = ({ query, change, asOf = false }: RangeFieldsProps) => (
  <Filters label="Range of the report">
    {asOf ? null : <TimeFilter label="From" value={query.from} onChange={(from) => change({ from })} />}
    <TimeFilter label={asOf ? 'As of' : 'To'} value={query.to} onChange={(to) => change({ to })} />
    {query.from === '' && query.to === '' ? null : (
      <Button size="small" tone="ghost" onClick={() => change({ from: '', to: '' })}>
        Clear days
      </Button>
    )}
    {query.as_of_position === '' ? null : (
      <p className="ledger-then small">
        As it stood at position <code>{query.as_of_position}</code> of the log.{' '}
        <Button size="small" onClick={() => change({ as_of_position: '' })}>
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

export const LedgerLinks = () => <PageLinks label="Ledger" pages={PAGES} />;
