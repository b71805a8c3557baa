import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Button,
  type Column,
  Filters,
  given,
  Money,
  PageLinks,
  TimeFilter,
  useFilters,
  useRead,
} from '../../kit/index.ts';

export type Line = components['schemas']['InvoiceLine'];
export type Meter = Line['meter'];

export const METERS: Readonly<Record<Meter, string>> = {
  active_users: 'Active users',
  jobs_started: 'Jobs started',
  job_transitions: 'Job transitions',
  records_created: 'Records created',
  forms_submitted: 'Forms submitted',
  messages_sent: 'Messages sent',
  webhooks_delivered: 'Webhooks delivered',
  assistant_questions: 'Assistant questions',
};

const isMeter = (text: string): text is Meter => Object.hasOwn(METERS, text);

export const METER_NAMES = Object.keys(METERS).filter(isMeter);

export const meterOf = (text: string): Meter | undefined => (isMeter(text) ? text : undefined);

export const useRateCard = (stale?: number) =>
  useRead(
    ['rate-card'],
    (client, signal) => client.get('/api/v1/partner-portal/billing/rate-card', { signal }),
    { stale },
  );

/** Half-open range of days or instants (`to` excluded); an empty side is that of the current calendar month (UTC). */
export type Range = Readonly<Record<'from' | 'to', string>>;

/** The range as a query string; an instant at midnight UTC is written as its day. */
export const rangeQuery = ({ from, to }: Range): string => {
  const query = new URLSearchParams(given({ from: dayOf(from), to: dayOf(to) })).toString();
  return query === '' ? '' : `?${query}`;
};

const dayOf = (at: string): string => at.replace(/T00:00:00\.000Z$/, '');

/** The range in the page's URL, and a function that changes it. */
export const useRange = (): [Range, (range: Range) => void] => {
  const { of, change } = useFilters(['from', 'to']);
  return [{ from: of('from'), to: of('to') }, change];
};

/** The calendar month (UTC) `months` before the current one. */
export const monthBefore = (months: number, now = new Date()): Range => {
  const first = (back: number): string =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 10);
  return { from: first(months), to: first(months - 1) };
};

/** `2026-11-01T00:00:00.000Z` to `2026-12-01T00:00:00.000Z` as days. */
export const windowText = ({ from, to }: Range): string => `${dayOf(from)} to before ${dayOf(to)} (UTC)`;

interface RangeProps {
  readonly range: Range;
  readonly onChange: (range: Range) => void;
}

export const RangeFields = ({ range, onChange }: RangeProps) => (
  <Filters label="Window">
    {(
      [
        ['from', 'From'],
        ['to', 'To before'],
      ] as const
    ).map(([side, label]) => (
      <TimeFilter
        key={side}
        label={label}
        value={dayOf(range[side]) || monthBefore(0)[side]}
        onChange={(day) => onChange({ ...range, [side]: day })}
      />
    ))}
    <Button size="small" tone="ghost" onClick={() => onChange({ from: '', to: '' })}>
      This month
    </Button>
    <Button size="small" tone="ghost" onClick={() => onChange(monthBefore(1))}>
      Last month
    </Button>
  </Filters>
);

interface AmountOf<T> {
  readonly of: (row: T) => number;
  readonly currency: (row: T) => string;
  /** The page that the amount comes from. */
  readonly to: (row: T) => string;
}

/** A column of amounts, each of which leads to its source. */
export const amounts = <T,>(key: string, title: string, { of, currency, to }: AmountOf<T>): Column<T> => ({
  key,
  title,
  min: 120,
  align: 'end',
  cell: (row) => <Money minor={of(row)} currency={currency(row)} to={to(row)} />,
});

/** A column of margins as shares of retail. */
export const shares = <T,>(of: (row: T) => number | null, to: (row: T) => string): Column<T> => ({
  key: 'percent',
  title: 'of retail',
  min: 90,
  grow: 0,
  align: 'end',
  cell: (row) => <Percent of={of(row)} to={to(row)} />,
});

export const percentText = (percent: number | null): string =>
  percent === null ? '–' : `${percent.toLocaleString(undefined, { maximumFractionDigits: 2 })} %`;

export const Percent = ({ of, to }: { of: number | null; to: string }) =>
  of === null ? (
    <>–</>
  ) : (
    <Link href={to} className="number">
      {percentText(of)}
    </Link>
  );

/** Links between the billing pages; links to pages with a range keep the current range. */
export const BillingLinks = () => {
  const [range] = useRange();
  return (
    <PageLinks
      label="Billing"
      pages={[
        [`/billing${rangeQuery(range)}`, 'Statements'],
        [`/billing/reconciliation${rangeQuery(range)}`, 'Reconciliation'],
        ['/billing/invoices', 'Invoices'],
        ['/billing/prices', 'Rate card'],
        ['/billing/texts', 'Texts'],
      ]}
    />
  );
};
