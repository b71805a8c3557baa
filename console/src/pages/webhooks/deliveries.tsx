import { Link, useLocation } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Badge,
  Button,
  Card,
  type Column,
  DataTable,
  Empty,
  Time,
  type Tone,
  useFilters,
  usePages,
} from '../../kit/index.ts';
import { EVENTS } from './subscription-form.tsx';

type Delivery = components['schemas']['WebhookDelivery'];
type Status = Delivery['status'];

const STATUSES = {
  pending: { text: 'Pending', tone: 'info' },
  delivered: { text: 'Delivered', tone: 'ok' },
  failed: { text: 'Refused', tone: 'danger' },
  dead: { text: 'Dead letter', tone: 'danger' },
} as const satisfies Record<Status, { text: string; tone: Tone }>;

export const DeliveryStatus = ({ status }: { status: Status }) => (
  <Badge tone={STATUSES[status].tone}>{STATUSES[status].text}</Badge>
);

const DELIVERED = [...EVENTS, 'webhook.test'] as const;
const isStatus = (text: string): text is Status => Object.hasOwn(STATUSES, text);
const eventOf = (text: string) => DELIVERED.find((event) => event === text);

const COLUMNS: readonly Column<Delivery>[] = [
  {
    key: 'event',
    title: 'Event',
    min: 150,
    cell: ({ id, event }) => <Link href={`/webhooks/deliveries/${id}`}>{event}</Link>,
  },
  { key: 'status', title: 'Status', min: 110, grow: 0, cell: DeliveryStatus },
  {
    key: 'answer',
    title: 'Answer',
    min: 220,
    grow: 3,
    cell: ({ response_code, last_error }) => (
      <span title={last_error ?? ''}>
        {last_error ?? (response_code === null ? '' : `HTTP ${response_code}`)}
      </span>
    ),
  },
  { key: 'attempts', title: 'Attempts', min: 90, grow: 0, align: 'end', cell: ({ attempts }) => attempts },
  {
    key: 'next',
    title: 'Next attempt',
    min: 120,
    grow: 0,
    cell: ({ next_attempt_at }) => (next_attempt_at === null ? '' : <Time at={next_attempt_at} relative />),
  },
  {
    key: 'created',
    title: 'Created',
    min: 120,
    grow: 0,
    cell: ({ created_at }) => <Time at={created_at} relative />,
  },
];

/** The deliveries of a subscription, newest first; what changes by itself is read again every five seconds. */
export const Deliveries = ({ subscriptionId }: { subscriptionId: string }) => {
  const [, navigate] = useLocation();
  const filters = useFilters(['status', 'event', 'from']);
  const [status, event, from] = [filters.of('status'), eventOf(filters.of('event')), filters.of('from')];
  const query = {
    ...(isStatus(status) ? { status } : {}),
    ...(event === undefined ? {} : { event }),
    ...(from === '' ? {} : { from: new Date(`${from}T00:00:00`).toISOString() }),
  };
  const rows = usePages(
    ['deliveries', subscriptionId, query],
    (client, limit) =>
      client.items('/api/v1/tenant/webhooks/{id}/deliveries', {
        params: { path: { id: subscriptionId }, query: { ...query, limit } },
      }),
    { every: 5000 },
  );
  return (
    <Card flush title="Deliveries">
      <search className="filters card-body" aria-label="Filters of the deliveries">
        <label className="filter">
          <span>Status</span>
          <select
            className="input"
            value={status}
            onChange={({ target }) => filters.set('status', target.value)}
          >
            <option value="">All</option>
            {Object.entries(STATUSES).map(([value, { text }]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <label className="filter">
          <span>Event</span>
          <select
            className="input"
            value={event ?? ''}
            onChange={({ target }) => filters.set('event', target.value)}
          >
            <option value="">All</option>
            {DELIVERED.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label className="filter">
          <span>Since</span>
          <input
            type="date"
            className="input"
            value={from}
            onChange={({ target }) => filters.set('from', target.value)}
          />
        </label>
        {filters.isAny ? (
          <Button size="small" tone="ghost" onClick={filters.clear}>
            Clear filters
          </Button>
        ) : null}
      </search>
      <DataTable
        label="Deliveries"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        onOpen={({ id }) => navigate(`/webhooks/deliveries/${id}`)}
        empty={
          <Empty title={filters.isAny ? 'No delivery matches these filters' : 'No deliveries yet'}>
            <p>{filters.isAny ? 'Take a filter away to see more.' : 'Send a test to see the first one.'}</p>
          </Empty>
        }
      />
    </Card>
  );
};
