import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  type Column,
  counts,
  Download,
  Empty,
  given,
  moneyText,
  Page,
  TableCard,
  Tile,
  useRead,
} from '../../kit/index.ts';
import {
  amounts,
  BillingLinks,
  type Range,
  RangeFields,
  rangeQuery,
  shares,
  useRange,
  windowText,
} from './range.tsx';
import '../../styles/billing.css';

export type Statement = components['schemas']['Statement'];

/** All statements of a window, which the API returns in one answer. */
export const useStatements = (range: Range) =>
  useRead(['statements', range.from, range.to], (client, signal) =>
    client.get('/api/v1/partner-portal/billing/statements', { params: { query: given(range) }, signal }),
  );

/** The usage of each customer and its amounts. */
export default function Statements() {
  const [range, setRange] = useRange();
  const statements = useStatements(range);
  const pathOf = ({ customer }: Statement): string => `/billing/customers/${customer.id}${rangeQuery(range)}`;
  const money = (key: 'wholesale' | 'retail' | 'margin', title: string): Column<Statement> =>
    amounts(key, title, {
      of: ({ totals }) => totals[key],
      currency: ({ currency }) => currency,
      to: pathOf,
    });
  const columns: readonly Column<Statement>[] = [
    {
      key: 'customer',
      title: 'Customer',
      min: 160,
      grow: 3,
      cell: (each) => <Link href={pathOf(each)}>{each.customer.name}</Link>,
    },
    counts('meters', 'Lines', ({ lines }) => lines.length, pathOf, 70),
    money('wholesale', 'Wholesale'),
    money('retail', 'Retail'),
    money('margin', 'Margin'),
    shares(({ totals }) => totals.margin_pct, pathOf),
  ];
  return (
    <Page
      title="Partner billing"
      about="What each customer used and what it costs, counted from the event log. Each figure leads to its events."
      actions={
        <Download
          name="statements.csv"
          text="Download CSV"
          read={(client) =>
            client.stream('/api/v1/partner-portal/billing/statements.csv', {
              params: { query: given(range) },
            })
          }
        />
      }
    >
      <BillingLinks />
      <RangeFields range={range} onChange={setRange} />
      <Sums of={statements.data} range={range} />
      <TableCard
        label="Statements"
        rows={statements}
        columns={columns}
        rowKey={({ customer, currency }) => `${customer.id} ${currency}`}
        to={pathOf}
        empty={
          <Empty title="No customers in this window">
            <p>A tenant is your customer once the platform has assigned it to you.</p>
          </Empty>
        }
      />
    </Page>
  );
}

/**
 * Sums of the statements that have the currency of the first one, since amounts of different currencies cannot be
 * added.
 */
const Sums = ({ of: statements, range }: { of: readonly Statement[] | undefined; range: Range }) => {
  const [first] = statements ?? [];
  if (statements === undefined || first === undefined) return null;
  const { currency, window } = first;
  const counted = statements.filter((each) => each.currency === currency);
  const sum = (key: 'wholesale' | 'retail' | 'margin'): string =>
    moneyText(
      counted.reduce((all, { totals }) => all + totals[key], 0),
      currency,
    );
  const to = `/billing/reconciliation${rangeQuery(range)}`;
  return (
    <>
      <p className="muted">
        {windowText(window)}
        {window.open ? '; it has not ended.' : '.'}
      </p>
      <div className="tiles">
        <Tile label="Retail" value={sum('retail')} to={to} />
        <Tile label="Wholesale" value={sum('wholesale')} to={to} />
        <Tile label="Margin" value={sum('margin')} to={to} />
      </div>
    </>
  );
};
