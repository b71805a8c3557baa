import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  type Column,
  Empty,
  Filters,
  Page,
  TableCard,
  TextFilter,
  Time,
  TimeFilter,
  useFilters,
  usePages,
} from '../../kit/index.ts';
import { instantsOf } from './event.ts';
import { EventLinks } from './links.tsx';

type Line = components['schemas']['LogLine'];

const COLUMNS: readonly Column<Line>[] = [
  { key: 'at', title: 'When', min: 215, grow: 0, cell: ({ at }) => <Time at={at} /> },
  {
    key: 'actor',
    title: 'Who',
    min: 200,
    grow: 2,
    cell: ({ actor, impersonated_by }) => (
      <span title={actor.id}>
        {actor.email === '' ? `${actor.kind} ${actor.id}` : actor.email}
        {impersonated_by === undefined ? null : <span className="muted"> by {impersonated_by}</span>}
      </span>
    ),
  },
  { key: 'action', title: 'Did what', min: 180, grow: 2, cell: ({ action }) => <code>{action}</code> },
  {
    key: 'subject',
    title: 'To what',
    min: 220,
    grow: 2,
    cell: ({ subject }) => (
      <>
        <span className="muted">{subject.kind}</span> {subject.id}
      </>
    ),
  },
  { key: 'request', title: 'Request', min: 150, cell: ({ request_id }) => <code>{request_id}</code> },
];

/** The activity log, newest first: a line per event, and per request under impersonation. */
export default function Log() {
  const filters = useFilters(['actor', 'action', 'from', 'to']);
  const query = { ...filters.given('actor', 'action'), ...instantsOf(filters.given('from', 'to')) };
  const rows = usePages(['event-log', query], (client, limit) =>
    client.items('/api/v1/tenant/audit/event-log', { params: { query: { ...query, limit } } }),
  );
  return (
    <Page title="Who did what" about="Actions of people and credentials, newest first.">
      <EventLinks />
      <Filters label="Filters of the log" of={filters}>
        <TextFilter label="Id of the actor" {...filters.field('actor')} />
        <TextFilter label="Action" {...filters.field('action')} />
        <TimeFilter label="From" type="datetime-local" {...filters.field('from')} />
        <TimeFilter label="Before" type="datetime-local" {...filters.field('to')} />
      </Filters>
      <TableCard
        label="Log"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ position, request_id, action }) => `${position ?? ''} ${request_id} ${action}`}
        empty={<Empty title="No line matches these filters" />}
      />
      <p className="small muted">
        The events themselves are under <Link href="/events">Events</Link>.
      </p>
    </Page>
  );
}
