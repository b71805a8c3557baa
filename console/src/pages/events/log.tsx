import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  Card,
  type Column,
  DataTable,
  Empty,
  Filters,
  Page,
  TextFilter,
  Time,
  TimeFilter,
  useFilters,
  usePages,
} from '../../kit/index.ts';
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

/** The event log, newest first: a line per event, and per request under impersonation. */
export default function Log() {
  const filters = useFilters(['actor', 'action', 'from', 'to']);
  const given = (name: 'actor' | 'action') => (filters.of(name) === '' ? {} : { [name]: filters.of(name) });
  const instant = (name: 'from' | 'to') =>
    filters.of(name) === '' ? {} : { [name]: new Date(filters.of(name)).toISOString() };
  const query = { ...given('actor'), ...given('action'), ...instant('from'), ...instant('to') };
  const rows = usePages(['event-log', query], (client, limit) =>
    client.items('/api/v1/tenant/audit/event-log', { params: { query: { ...query, limit } } }),
  );
  return (
    <Page title="Who did what" about="Actions of people and credentials, newest first.">
      <EventLinks at="/event-log" />
      <Filters label="Filters of the log" of={filters}>
        {(['actor', 'action'] as const).map((name) => (
          <TextFilter
            key={name}
            label={name === 'actor' ? 'Id of the actor' : 'Action'}
            value={filters.of(name)}
            onChange={(value) => filters.set(name, value)}
          />
        ))}
        {(['from', 'to'] as const).map((name) => (
          <TimeFilter
            key={name}
            label={name === 'from' ? 'From' : 'Before'}
            type="datetime-local"
            value={filters.of(name)}
            onChange={(value) => filters.set(name, value)}
          />
        ))}
      </Filters>
      <Card flush>
        <DataTable
          label="Log"
          rows={rows}
          columns={COLUMNS}
          rowKey={({ position, request_id, action }) => `${position ?? ''} ${request_id} ${action}`}
          empty={<Empty title="No line matches these filters" />}
        />
      </Card>
      <p className="small muted">
        The events themselves are under <Link href="/events">Events</Link>.
      </p>
    </Page>
  );
}
