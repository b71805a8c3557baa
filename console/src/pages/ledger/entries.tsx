import { Link, useLocation, useSearchParams } from 'wouter';
import {
  Badge,
  Button,
  type Column,
  DataTable,
  Empty,
  Money,
  Page,
  type Tone,
  usePages,
} from '../../kit/index.ts';
import { DayField, LedgerLinks } from './range.tsx';
import '../../styles/ledger.css';

export const STATES = {
  draft: { text: 'Draft', tone: 'warn' },
  posted: { text: 'Posted', tone: 'ok' },
  reversed: { text: 'Reversed', tone: 'neutral' },
} as const satisfies Record<string, { text: string; tone: Tone }>;
export type EntryState = keyof typeof STATES;

const isState = (text: string | null): text is EntryState => text !== null && Object.hasOwn(STATES, text);

export const StateBadge = ({ state }: { state: EntryState }) => (
  <Badge tone={STATES[state].tone}>{STATES[state].text}</Badge>
);

/** What a list shows of an entry. */
interface Listed {
  readonly id: string;
  readonly number: number | null;
  readonly state: EntryState;
  readonly date: string;
  readonly memo: string;
  readonly currency: string;
  readonly total_debit: number;
  readonly source: { readonly kind: string };
}

const COLUMNS: readonly Column<Listed>[] = [
  {
    key: 'number',
    title: 'Number',
    min: 90,
    grow: 0,
    cell: ({ id, number }) => (
      <Link href={`/ledger/entries/${id}`}>{number === null ? 'Draft' : `#${number}`}</Link>
    ),
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
    cell: ({ total_debit, currency }) => <Money minor={total_debit} currency={currency} />,
  },
];

/** The journal: drafts, posted and reversed entries, newest date first. */
export default function Entries() {
  const [, navigate] = useLocation();
  const [params, setParams] = useSearchParams();
  const state = params.get('state');
  const account = params.get('account') ?? '';
  const from = params.get('from') ?? '';
  const to = params.get('to') ?? '';
  const filter = {
    ...(isState(state) ? { state } : {}),
    ...(account === '' ? {} : { account }),
    ...(from === '' ? {} : { from }),
    ...(to === '' ? {} : { to }),
  };
  const set = (name: string, value: string): void =>
    setParams(
      (present) => {
        const next = new URLSearchParams(present);
        if (value === '') next.delete(name);
        else next.set(name, value);
        return next;
      },
      { replace: true },
    );
  const rows = usePages(['entries', filter], (client, limit) =>
    client.items('/api/v1/tenant/gl/entries', { params: { query: { ...filter, limit } } }),
  );
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Entries"
      about="Every entry of the journal. What is posted stays as it is; a mistake is reversed by its mirror."
      crumbs={[['/ledger', 'Ledger']]}
      actions={
        <Link href="/ledger/new-entry" className="button button-primary">
          New entry
        </Link>
      }
    >
      <LedgerLinks at="/ledger/entries" />
      <search className="filters">
        <label className="filter">
          <span>State</span>
          <select className="input" value={state ?? ''} onChange={({ target }) => set('state', target.value)}>
            <option value="">All</option>
            {Object.entries(STATES).map(([value, { text }]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label className="filter">
          <span>Account</span>
          <input
            className="input"
            value={account}
            placeholder="Code"
            onChange={({ target }) => set('account', target.value)}
          />
        </label>
        <DayField label="From" value={from} onChange={(value) => set('from', value)} />
        <DayField label="To" value={to} onChange={(value) => set('to', value)} />
        {isFiltered ? (
          <Button size="small" tone="ghost" onClick={() => setParams({}, { replace: true })}>
            Clear filters
          </Button>
        ) : null}
      </search>
      <section className="card">
        <DataTable
          label="Journal entries"
          rows={rows}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => navigate(`/ledger/entries/${id}`)}
          empty={
            <Empty title={isFiltered ? 'No entry matches these filters' : 'No entries yet'}>
              <p>
                {isFiltered
                  ? 'Take a filter away to see more.'
                  : 'Entries are written here, by posting rules and by the API.'}
              </p>
            </Empty>
          }
        />
      </section>
    </Page>
  );
}
