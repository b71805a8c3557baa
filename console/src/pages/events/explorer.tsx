import { Pause, Play } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import {
  Button,
  Card,
  type Column,
  counts,
  DataTable,
  Empty,
  Filters,
  type Listed,
  Page,
  type Paged,
  TextFilter,
  Time,
  TimeFilter,
  useFilters,
  usePages,
  useRead,
  useTail,
  useTenant,
} from '../../kit/index.ts';
import { type AuditEvent, instantsOf, metadataOf, partsOf, streamPath } from './event.ts';
import { EventLinks } from './links.tsx';
import '../../styles/events.css';

/** Maximum of events in the live view. */
const MOST = 2000;
/** The live view begins this many lines before the end of the activity log. */
const RECENT = 100;

const COLUMNS: readonly Column<AuditEvent>[] = [
  {
    key: 'at',
    title: 'When',
    min: 215,
    grow: 0,
    cell: (event) => <Time at={metadataOf(event).at ?? ''} />,
  },
  {
    key: 'type',
    title: 'Type',
    min: 180,
    grow: 2,
    cell: ({ type, stream, revision }) => <Link href={streamPath(stream, revision)}>{type}</Link>,
  },
  {
    key: 'stream',
    title: 'Stream',
    min: 220,
    grow: 3,
    cell: ({ stream }) => {
      const { category, id } = partsOf(stream);
      return (
        <Link href={streamPath(stream)} title={stream}>
          {category} <code className="muted">{id}</code>
        </Link>
      );
    },
  },
  counts(
    'revision',
    'Revision',
    ({ revision }) => revision,
    ({ stream, revision }) => streamPath(stream, revision),
    80,
  ),
  {
    key: 'actor',
    title: 'Actor',
    min: 170,
    grow: 2,
    cell: (event) => {
      const { actorKind, actorId, impersonatedBy } = metadataOf(event);
      return (
        <>
          <span className="muted">{actorKind}</span> {actorId}
          {impersonatedBy === undefined ? null : <span className="muted"> by {impersonatedBy}</span>}
        </>
      );
    },
  },
];

const NAMES = ['stream', 'category', 'type', 'actor', 'from', 'to'] as const;

/** The tenant's log: new events as they happen, or past events selected by stream, type, actor and time. */
export default function Explorer() {
  const filters = useFilters(NAMES);
  return (
    <Page
      title="Events"
      about="Everything that happened in this tenant, as it is stored. An event leads to its stream, its causes and the state after it."
    >
      <EventLinks />
      <Filters label="Filters of the events" of={filters}>
        <TextFilter label="Type" placeholder="RecordCreated" {...filters.field('type')} />
        <TextFilter label="Category" placeholder="record" {...filters.field('category')} />
        <TextFilter label="Stream" placeholder="tenant.record-…" {...filters.field('stream')} />
        <TextFilter label="Actor" placeholder="Id of a user" {...filters.field('actor')} />
        <TimeFilter label="From" type="datetime-local" {...filters.field('from')} />
        <TimeFilter label="Before" type="datetime-local" {...filters.field('to')} />
      </Filters>
      {filters.isAny ? <Past filters={filters} /> : <Live />}
    </Page>
  );
}

/** A part of the log, oldest first. */
const Past = ({ filters }: { filters: ReturnType<typeof useFilters<(typeof NAMES)[number]>> }) => {
  const query = {
    ...filters.given('stream', 'category', 'type', 'actor'),
    ...instantsOf(filters.given('from', 'to')),
  };
  const rows = usePages(['audit-events', query], (client, limit) =>
    client.items('/api/v1/tenant/audit/events', { params: { query: { ...query, limit } } }),
  );
  return (
    <Card flush title="Oldest first">
      <EventTable
        rows={rows}
        empty={
          <Empty title="No event matches these filters">
            <p>Names must be exact: for example the type RecordCreated or the stream tenant.record-id.</p>
          </Empty>
        }
      />
    </Card>
  );
};

/** The latest events and the events that follow, newest first. */
const Live = () => {
  const isOff = useTenant()?.impersonatedBy !== undefined;
  const recent = useRead(
    ['audit-recent'],
    async (client, signal) => {
      let after: string | undefined;
      let count = 0;
      // A page of the activity log may be empty although older ones are not.
      const lines = client.items('/api/v1/tenant/audit/event-log', {
        params: { query: { limit: RECENT } },
        signal,
      });
      for await (const { position } of lines) {
        after = position;
        count += 1;
        if (count === RECENT) break;
      }
      if (after === undefined) return { events: [], place: undefined };
      const events = await client.get('/api/v1/tenant/audit/events', {
        params: { query: { after, limit: 200 } },
        signal,
      });
      return { events, place: events.at(-1)?.position ?? after };
    },
    { stale: Number.POSITIVE_INFINITY },
  );
  if (recent.data === undefined || isOff) {
    return (
      <Card flush title={isOff ? 'The last events; not followed under impersonation' : 'The last events'}>
        <EventTable rows={{ ...recent, data: recent.data?.events.toReversed() }} />
      </Card>
    );
  }
  return <Tail events={recent.data.events} place={recent.data.place} />;
};

const Tail = ({ events, place }: { events: readonly AuditEvent[]; place: string | undefined }) => {
  const [isPaused, setPaused] = useState(false);
  const [list, setList] = useState(() => events.toReversed());
  const [dropped, setDropped] = useState(0);
  const state = useTail({
    after: place,
    isPaused,
    onEvents: (more, missed) => {
      setList((present) => [...more.toReversed(), ...present].slice(0, MOST));
      setDropped((count) => count + missed);
    },
  });
  return (
    <Card
      flush
      title="Newest first"
      actions={
        <>
          <span className="small muted" aria-live="polite">
            {state.kind === 'waiting'
              ? 'The server does not answer; retrying.'
              : isPaused
                ? 'Paused'
                : 'Following'}
            {dropped === 0 ? '' : ` · ${dropped.toLocaleString()} passed too fast to be shown`}
          </span>
          <Button size="small" onClick={() => setPaused(!isPaused)}>
            {isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
            {isPaused ? 'Follow' : 'Pause'}
          </Button>
        </>
      }
    >
      <EventTable rows={{ data: list, error: null, refetch: () => undefined }} />
    </Card>
  );
};

interface EventTableProps {
  readonly rows: Listed<AuditEvent> | Paged<AuditEvent>;
  readonly empty?: ReactNode;
}

const EventTable = ({ rows, empty = <Empty title="Nothing has happened yet" /> }: EventTableProps) => {
  return (
    <DataTable
      label="Events"
      rows={rows}
      columns={COLUMNS}
      rowKey={({ id }) => id}
      to={({ stream, revision }) => streamPath(stream, revision)}
      empty={empty}
    />
  );
};
