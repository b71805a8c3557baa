import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import { MonthsCard } from '../../kit/chart.tsx';
import {
  type Column,
  Download,
  Empty,
  given,
  moneyText,
  Page,
  PendingCard,
  type Read,
  TableCard,
  Tabs,
  Tile,
  useFilters,
  useRead,
} from '../../kit/index.ts';
import {
  amounts,
  BillingLinks,
  METERS,
  meterOf,
  monthBefore,
  percentText,
  type Range,
  RangeFields,
  rangeQuery,
  shares,
  useRange,
  useRateCard,
  windowText,
} from './range.tsx';
import '../../styles/billing.css';

type Reconciliation = components['schemas']['Reconciliation'];
type Bucket = Reconciliation['buckets'][number];
type Scope = Reconciliation['scope'];

const MONTHS = 6;

/** Usage, its invoiced part and the rest, by customer or by meter, and over months. */
export default function ReconciliationPage() {
  const [range, setRange] = useRange();
  const filters = useFilters(['scope']);
  const scope: Scope = filters.of('scope') === 'meter' ? 'meter' : 'customer';
  const read = useRead(['reconciliation', range.from, range.to, scope], (client, signal) =>
    client.get('/api/v1/partner-portal/billing/reconciliation', {
      params: { query: { ...given(range), scope } },
      signal,
    }),
  );
  const card = useRateCard();
  return (
    <Page
      title="Reconciliation"
      about="The sums of the statements: amounts that are invoiced plus amounts that are not invoiced yet."
      actions={
        <Download
          name="reconciliation.csv"
          text="Download CSV"
          read={(client) =>
            client.stream('/api/v1/partner-portal/billing/reconciliation.csv', {
              params: { query: { ...given(range), scope } },
            })
          }
        />
      }
    >
      <BillingLinks />
      <RangeFields range={range} onChange={setRange} />
      {card.data === undefined ? (
        <PendingCard of={card} what="the currency" />
      ) : (
        <Amounts read={read} currency={card.data.currency} range={range} scope={scope} />
      )}
    </Page>
  );
}

interface AmountsProps {
  readonly read: Read<Reconciliation>;
  /** Of the rate card: the sums leave out statements in other currencies. */
  readonly currency: string;
  readonly range: Range;
  readonly scope: Scope;
}

const Amounts = (props: AmountsProps) => {
  const { read, currency, range, scope } = props;
  const filters = useFilters(['scope']);
  const table = <Buckets {...props} />;
  return (
    <>
      {read.data === undefined ? null : <Sums of={read.data} currency={currency} range={range} />}
      <Months currency={currency} />
      <Tabs
        label="Sums by"
        value={scope}
        onChange={(key) => filters.set('scope', key)}
        tabs={[
          { key: 'customer', title: 'By customer', content: table },
          { key: 'meter', title: 'By meter', content: table },
        ]}
      />
    </>
  );
};

interface SumsProps {
  readonly of: Reconciliation;
  readonly currency: string;
  readonly range: Range;
}

const Sums = ({ of: { totals, window }, currency, range }: SumsProps) => (
  <>
    <p className="muted">
      {windowText(window)}
      {window.open ? '; it has not ended.' : '.'}
    </p>
    <div className="tiles">
      <Tile
        label="Invoiced, retail"
        value={moneyText(totals.invoiced.retail, currency)}
        to="/billing/invoices"
      />
      <Tile
        label="Not invoiced yet, retail"
        value={moneyText(totals.unbilled.retail, currency)}
        to={`/billing${rangeQuery(range)}`}
      />
      <Tile
        label="Margin"
        value={moneyText(totals.margin, currency)}
        detail={percentText(totals.margin_pct)}
        to={`/billing${rangeQuery(range)}`}
      />
    </div>
  </>
);

/** The last six months side by side. */
const Months = ({ currency }: { currency: string }) => {
  const months = Array.from({ length: MONTHS }, (_, nth) => monthBefore(MONTHS - 1 - nth));
  const read = useRead(
    ['reconciliation', 'months', months[0]?.from],
    (client, signal) =>
      Promise.all(
        months.map((month) =>
          client.get('/api/v1/partner-portal/billing/reconciliation', { params: { query: month }, signal }),
        ),
      ),
    { stale: 60_000 },
  );
  const text = read.data
    ?.map(({ totals }, nth) => `${months[nth]?.from.slice(0, 7)}: ${moneyText(totals.retail, currency)}`)
    .join(', ');
  return (
    <MonthsCard
      title={`The last ${MONTHS} months, retail`}
      label={`Retail amounts by month, invoiced and not invoiced, and the margin. In total ${text}.`}
      what="the last months"
      months={months}
      read={read}
      series={[
        ['Invoiced', ({ totals }) => totals.invoiced.retail],
        ['Not invoiced', ({ totals }) => totals.unbilled.retail],
        ['Margin', ({ totals }) => totals.margin],
      ]}
      currency={currency}
    />
  );
};

const Buckets = ({ read, currency, range, scope }: AmountsProps) => {
  const most = Math.max(1, ...(read.data?.buckets ?? []).map(({ retail }) => retail));
  /** Path of the statements with the usage: of the customer, or of all customers. */
  const statementsOf = ({ kind, id }: Bucket['scope']): string =>
    `/billing${kind === 'customer' ? `/customers/${id}` : ''}${rangeQuery(range)}`;
  const invoicesOf = ({ kind, id }: Bucket['scope']): string =>
    `/billing/invoices${kind === 'customer' ? `?${new URLSearchParams({ customer: id })}` : ''}`;
  const money = (key: string, title: string, of: (bucket: Bucket) => number, to = statementsOf) =>
    amounts(key, title, { of, currency: () => currency, to: (bucket) => to(bucket.scope) });
  const columns: readonly Column<Bucket>[] = [
    {
      key: 'name',
      title: scope === 'customer' ? 'Customer' : 'Meter',
      min: 150,
      grow: 2,
      cell: ({ scope: { kind, id, name } }) => {
        if (kind === 'customer')
          return <Link href={`/billing/customers/${id}${rangeQuery(range)}`}>{name}</Link>;
        const meter = meterOf(id);
        return meter === undefined ? name : METERS[meter];
      },
    },
    {
      key: 'share',
      title: 'Retail compared',
      min: 150,
      cell: ({ retail }) => (
        <div className="billing-share">
          <div style={{ width: `${Math.max(0, (100 * retail) / most)}%` }} />
        </div>
      ),
    },
    money('retail', 'Retail', ({ retail }) => retail),
    money('invoiced', 'Invoiced', ({ invoiced }) => invoiced.retail, invoicesOf),
    money('unbilled', 'Not invoiced', ({ unbilled }) => unbilled.retail),
    money('wholesale', 'Wholesale', ({ wholesale }) => wholesale),
    money('margin', 'Margin', ({ margin }) => margin),
    shares(
      ({ margin_pct }) => margin_pct,
      (bucket) => statementsOf(bucket.scope),
    ),
  ];
  return (
    <TableCard
      label={scope === 'customer' ? 'Sums by customer' : 'Sums by meter'}
      rows={{ ...read, data: read.data?.buckets }}
      columns={columns}
      rowKey={({ scope: { id } }) => id}
      empty={<Empty title="No usage in this window" />}
    />
  );
};
