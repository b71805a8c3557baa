import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  type Column,
  Empty,
  Filters,
  Money,
  Page,
  SelectFilter,
  TableCard,
  TextFilter,
  TimeFilter,
  type Tone,
  useFilters,
  usePages,
} from '../../kit/index.ts';
import { LedgerLinks } from './range.tsx';
import '../../styles/ledger.css';

export type JournalEntry = components['schemas']['JournalEntry'];
type State = JournalEntry['state'];

const STATES = {
  draft: { text: 'Draft', tone: 'warn' },
  posted: { text: 'Posted', tone: 'ok' },
  reversed: { text: 'Reversed', tone: 'neutral' },
} as const satisfies Record<State, { text: string; tone: Tone }>;

const isState = (text: string): text is State => Object.hasOwn(STATES, text);

export const StateBadge = ({ state }: { state: State }) => (
  <Badge tone={STATES[state].tone}>{STATES[state].text}</Badge>
);

const pathOf = ({ id }: Pick<JournalEntry, 'id'>): string => `/ledger/entries/${id}`;

const COLUMNS: readonly Column<JournalEntry>[] = [
  {
    key: 'number',
    title: 'Number',
    min: 90,
    grow: 0,
    cell: ({ id, number }) => <Link href={pathOf({ id })}>{number === null ? 'Draft' : `#${number}`}</Link>,
  },
  { key: 'date', title: 'Date', min: 110, grow: 0, cell: ({ date }) => date },
  { key: 'memo', title: 'Memo', min: 200, grow: 3, cell: ({ memo }) => memo },
  { key: 'source', title: 'Source', min: 130, cell: ({ source }) => source.kind },
  { key: 'state', title: 'State', min: 110, grow: 0, cell: ({ state }) => <StateBadge state={state} /> },
  {
    key: 'total',
    title: 'Amount',
    min: 140,
    align: 'end',
    cell: ({ id, total_debit, currency }) => (
      <Money minor={total_debit} currency={currency} to={pathOf({ id })} />
    ),
  },
];

/** Journal entries: drafts, posted and reversed entries, newest date first. */
export default function Entries() {
  const filters = useFilters(['state', 'account', 'from', 'to']);
  const state = filters.of('state');
  const filter = { ...(isState(state) ? { state } : {}), ...filters.given('account', 'from', 'to') };
  const rows = usePages(['entries', filter], (client, limit) =>
    client.items('/api/v1/tenant/gl/entries', { params: { query: { ...filter, limit } } }),
  );
  return (
    <Page
      title="Entries"
      about="Every entry of the journal. Posted entries never change; a mistake is corrected by a mirror entry."
      crumbs={[['/ledger', 'Ledger']]}
      actions={
        <Link href="/ledger/new-entry" className="button button-primary">
          New entry
        </Link>
      }
    >
      <LedgerLinks />
      <Filters label="Filters of the entries" of={filters}>
        <SelectFilter
          label="State"
          {...filters.field('state')}
          options={Object.entries(STATES).map(([value, { text }]) => [value, text])}
        />
        <TextFilter label="Account" placeholder="Code" {...filters.field('account')} />
        <TimeFilter label="From" {...filters.field('from')} />
        <TimeFilter label="To" {...filters.field('to')} />
      </Filters>
      <TableCard
        label="Journal entries"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        to={pathOf}
        empty={
          <Empty title={filters.isAny ? 'No entry matches these filters' : 'No entries yet'}>
            <p>
              {filters.isAny
                ? 'Remove a filter to see more.'
                : 'Entries are written here, by posting rules and by the API.'}
            </p>
          </Empty>
        }
      />
    </Page>
  );
}
