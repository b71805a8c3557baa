import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  ago,
  Badge,
  Card,
  type Column,
  counts,
  DataTable,
  Empty,
  Filters,
  SelectFilter,
  TimeFilter,
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
  counts(
    'attempts',
    'Attempts',
    ({ attempts }) => attempts,
    ({ id }) => `/webhooks/deliveries/${id}`,
  ),
  ago('next', 'Next attempt', ({ next_attempt_at }) => next_attempt_at),
  ago('created', 'Created', ({ created_at }) => created_at),
];

/**
 * The deliveries of a subscription, newest first. The list is read again every five seconds while it has few pages,
 * since deliveries change state by themselves.
 */
export const Deliveries = ({ subscriptionId }: { subscriptionId: string }) => {
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
      <div className="card-body">
        <Filters label="Filters of the deliveries" of={filters}>
          <SelectFilter
            label="Status"
            {...filters.field('status')}
            options={Object.entries(STATUSES).map(([value, { text }]) => [value, text])}
          />
          <SelectFilter
            label="Event"
            value={event ?? ''}
            onChange={(value) => filters.set('event', value)}
            options={DELIVERED.map((name) => [name, name])}
          />
          <TimeFilter label="Since" {...filters.field('from')} />
        </Filters>
      </div>
      <DataTable
        label="Deliveries"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        to={({ id }) => `/webhooks/deliveries/${id}`}
        empty={
          <Empty title={filters.isAny ? 'No delivery matches these filters' : 'No deliveries yet'}>
            <p>{filters.isAny ? 'Remove a filter to see more.' : 'Send a test to see the first one.'}</p>
          </Empty>
        }
      />
    </Card>
  );
};
