import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useEffect } from 'react';
import { Link, useParams } from 'wouter';
import {
  Button,
  Card,
  Copy,
  Empty,
  Failed,
  IconButton,
  localText,
  Page,
  PendingCard,
  Time,
  useFilters,
  usePages,
} from '../../kit/index.ts';
import { type AuditEvent, metadataOf, partsOf, subjectPath } from './event.ts';
import { EventDetail } from './event-detail.tsx';
import { EventLinks } from './links.tsx';
import { States } from './states.tsx';
import '../../styles/events.css';

const CRUMBS = [['/events', 'Events']] as const;

/** Events that are read when neither a moment nor a revision is chosen; further events are read on demand. */
const MOST_READ = 2000;

const AGO = [
  ['An hour ago', 3_600_000],
  ['Yesterday', 86_400_000],
  ['A week ago', 604_800_000],
] as const;

/** One stream as a timeline, with the state after each event and the changes that the event made. */
export default function Stream() {
  const { stream: given = '' } = useParams();
  const stream = decodeURIComponent(given);
  const { category, id } = partsOf(stream);
  const rows = usePages(['audit-events', 'of', stream], (client, limit) =>
    client.items('/api/v1/tenant/audit/events', { params: { query: { stream, limit } } }),
  );
  const events = rows.data?.pages.flatMap(({ items }) => items);
  const address = useFilters(['revision', 'at']);
  const wantsMore =
    rows.hasNextPage && !rows.isFetching && rows.error === null && !reaches(events ?? [], address.of);
  const { fetchNextPage } = rows;
  useEffect(() => {
    if (wantsMore) void fetchNextPage();
  }, [wantsMore, fetchNextPage]);
  const subject = subjectPath(stream);
  return (
    <Page
      title={category}
      about={
        <>
          <code>{stream}</code> <Copy text={stream} label="Copy the name of the stream" />
        </>
      }
      crumbs={CRUMBS}
      actions={
        subject === undefined ? null : (
          <Link href={subject} className="button button-plain">
            Open {category} {id.slice(0, 8)}
          </Link>
        )
      }
    >
      <EventLinks />
      {events === undefined ? (
        <PendingCard of={rows} what="the events" />
      ) : events.length === 0 ? (
        <Card>
          <Empty title="No such stream">
            <p>No stream of this tenant has this name.</p>
          </Empty>
        </Card>
      ) : (
        <>
          <Failed of={rows} />
          <Timeline
            stream={stream}
            events={events}
            more={rows.hasNextPage ? () => void rows.fetchNextPage() : undefined}
          />
        </>
      )}
    </Page>
  );
}

interface TimelineProps {
  readonly stream: string;
  readonly events: readonly AuditEvent[];
  /** Reads further events; undefined when all are read. */
  readonly more: (() => void) | undefined;
}

/** Index of the last event that occurred at a moment or before it. */
const indexAt = (events: readonly AuditEvent[], moment: string): number => {
  const ms = Date.parse(moment);
  return events.findLastIndex((event) => Date.parse(metadataOf(event).at ?? '') <= ms);
};

/**
 * Whether the events read so far include the chosen moment or revision: with fewer events, a wrong state would be
 * shown.
 */
const reaches = (events: readonly AuditEvent[], of: (name: 'revision' | 'at') => string): boolean => {
  const [revision, at] = [of('revision'), of('at')];
  if (revision !== '') return events.length > Number(revision);
  if (at === '') return events.length >= MOST_READ;
  const last = events.at(-1);
  return last !== undefined && Date.parse(metadataOf(last).at ?? '') > Date.parse(at);
};

const Timeline = ({ stream, events, more }: TimelineProps) => {
  const address = useFilters(['revision', 'at', 'with']);
  const [revision, at] = [address.of('revision'), address.of('at')];
  const last = events.length - 1;
  const wanted = revision === '' ? (at === '' ? last : indexAt(events, at)) : Number(revision);
  const chosen = Math.min(last, Number.isInteger(wanted) ? wanted : last);
  const choose = (next: number): void => {
    address.change({ revision: String(Math.max(0, Math.min(last, next))), at: '' });
  };
  const event = events[chosen];
  return (
    <>
      <Card title="Time travel">
        <div className="event-travel">
          <IconButton
            label="The event before"
            icon={<ChevronLeft size={16} aria-hidden />}
            disabled={chosen <= 0}
            onClick={() => choose(chosen - 1)}
          />
          <input
            type="range"
            min={0}
            max={last}
            value={Math.max(0, chosen)}
            aria-label="Revision of the stream"
            aria-valuetext={
              event === undefined ? 'before the first event' : `revision ${chosen}, ${event.type}`
            }
            onChange={({ target }) => choose(target.valueAsNumber)}
          />
          <IconButton
            label="The next event"
            icon={<ChevronRight size={16} aria-hidden />}
            disabled={chosen >= last}
            onClick={() => choose(chosen + 1)}
          />
          <label className="filter">
            <span>As it was at</span>
            <input
              type="datetime-local"
              step={1}
              className="input"
              value={at === '' ? '' : localText(at).slice(0, 19)}
              onChange={({ target }) =>
                address.change({
                  revision: '',
                  at: target.value === '' ? '' : new Date(target.value).toISOString(),
                })
              }
            />
          </label>
          <span className="row">
            {AGO.map(([title, ms]) => (
              <Button
                key={title}
                size="small"
                onClick={() => address.change({ revision: '', at: new Date(Date.now() - ms).toISOString() })}
              >
                {title}
              </Button>
            ))}
          </span>
        </div>
        {event === undefined ? (
          <p className="muted">At that moment it did not exist yet.</p>
        ) : (
          <p aria-live="polite">
            After <strong>{event.type}</strong>, revision {event.revision} of {last}
            {more === undefined ? '' : '+'}, <Time at={metadataOf(event).at ?? ''} />
          </p>
        )}
      </Card>
      <div className="event-columns">
        <Card flush title={`${events.length.toLocaleString()}${more === undefined ? '' : '+'} events`}>
          <ol className="event-timeline" aria-label="Timeline">
            {events.map((each, index) => (
              <li key={each.id}>
                <button
                  type="button"
                  aria-current={index === chosen ? 'true' : undefined}
                  onClick={() => choose(index)}
                >
                  <span className="muted">{each.revision}</span>
                  <span className="event-type">{each.type}</span>
                  <span className="small muted">
                    <Time at={metadataOf(each).at ?? ''} relative />
                  </span>
                </button>
              </li>
            ))}
          </ol>
          {more === undefined ? null : (
            <div className="card-body">
              <Button size="small" onClick={more}>
                Show more events
              </Button>
            </div>
          )}
        </Card>
        {event === undefined ? null : (
          <div className="stack">
            <States
              stream={stream}
              event={event}
              before={events[chosen - 1]}
              all={events}
              other={address.of('with')}
              compare={(other) => address.set('with', other)}
            />
            <EventDetail event={event} />
          </div>
        )}
      </div>
    </>
  );
};
