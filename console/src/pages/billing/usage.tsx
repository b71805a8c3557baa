import { useParams } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  Card,
  type Column,
  Copy,
  DataTable,
  Empty,
  given,
  Page,
  Time,
  usePages,
} from '../../kit/index.ts';
import { METERS, meterOf, RangeFields, rangeQuery, useRange } from './range.tsx';
import '../../styles/billing.css';

type UsageEvent = components['schemas']['UsageEvent'];

const COLUMNS: readonly Column<UsageEvent>[] = [
  { key: 'at', title: 'When', min: 215, grow: 0, cell: ({ at }) => <Time at={at} /> },
  { key: 'type', title: 'Event', min: 150, cell: ({ type }) => <code>{type}</code> },
  {
    key: 'actor',
    title: 'By',
    min: 150,
    cell: ({ actor }) => (
      <span title={actor.id}>
        {actor.kind} <code>{actor.id.slice(0, 8)}</code>
      </span>
    ),
  },
  {
    key: 'stream',
    title: 'Stream',
    min: 240,
    grow: 3,
    cell: ({ stream }) => <code title={stream}>{stream}</code>,
  },
  { key: 'position', title: 'Position', min: 165, grow: 0, cell: ({ position }) => <code>{position}</code> },
  actions(60, ({ event_id }) => <Copy text={event_id} label="Copy the event’s id" />),
];

/** The events behind a count, in the order of the log. */
export default function Usage() {
  const { id = '', meter: named = '' } = useParams();
  const meter = meterOf(named);
  const [range, setRange] = useRange();
  const rows = usePages(
    ['usage', id, named, range.from, range.to],
    (client, limit) =>
      client.items('/api/v1/partner-portal/billing/statements/{customer_id}/usage', {
        params: {
          path: { customer_id: id },
          query: { meter: meter ?? 'active_users', limit, ...given(range) },
        },
      }),
    { enabled: meter !== undefined },
  );
  return (
    <Page
      title={meter === undefined ? 'No such meter' : METERS[meter]}
      about={
        meter === 'active_users'
          ? 'The first event of each person in the window.'
          : 'The events that were counted, in the order of the customer’s log. They are stored unchanged: none can be added, changed or removed.'
      }
      crumbs={[
        [`/billing${rangeQuery(range)}`, 'Statements'],
        [`/billing/customers/${id}${rangeQuery(range)}`, id],
      ]}
    >
      <RangeFields range={range} onChange={setRange} />
      <Card flush>
        {meter === undefined ? (
          <Empty title="There is no such meter" />
        ) : (
          <DataTable
            label="Events"
            rows={rows}
            columns={COLUMNS}
            rowKey={({ event_id }) => event_id}
            empty={<Empty title="Nothing was counted in this window" />}
          />
        )}
      </Card>
    </Page>
  );
}
