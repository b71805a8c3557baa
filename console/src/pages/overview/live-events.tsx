import { Pause, Play } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { Badge, Button, Card, Empty, Time, useTail } from '../../kit/index.ts';
import { type AuditEvent, metadataOf } from '../events/event.ts';
import { emptyRate, moved } from './rate.ts';
import { RateBars } from './rate-bars.tsx';

const WINDOW_S = 180;
const NEWEST = 12;
const TYPES = 8;

const secondsNow = (): number => Math.floor(Date.now() / 1000);

interface Seen {
  readonly rate: ReturnType<typeof emptyRate>;
  readonly newest: readonly AuditEvent[];
  readonly byType: ReadonlyMap<string, number>;
  readonly total: number;
}

const withEvents = (seen: Seen, events: readonly AuditEvent[], dropped: number): Seen => {
  const byType = new Map(seen.byType);
  for (const { type } of events) byType.set(type, (byType.get(type) ?? 0) + 1);
  const at = events
    .map((event) => Math.floor(Date.parse(metadataOf(event).at ?? '') / 1000))
    .filter(Number.isFinite);
  return {
    rate: moved(seen.rate, secondsNow(), at),
    newest: [...events].reverse().concat(seen.newest).slice(0, NEWEST),
    byType,
    total: seen.total + events.length + dropped,
  };
};

/** The log as it grows: its rate, the newest events, and the number of events by type. */
export const LiveEvents = () => {
  const [isPaused, setPaused] = useState(false);
  const [seen, setSeen] = useState<Seen>(() => ({
    rate: emptyRate(secondsNow(), WINDOW_S),
    newest: [],
    byType: new Map(),
    total: 0,
  }));
  const tail = useTail({
    isPaused,
    onEvents: (events, dropped) => setSeen((before) => withEvents(before, events, dropped)),
  });
  useEffect(() => {
    const timer = setInterval(
      () => setSeen((before) => ({ ...before, rate: moved(before.rate, secondsNow(), []) })),
      1000,
    );
    return () => clearInterval(timer);
  }, []);
  if (tail.kind === 'off') {
    return (
      <Card title="Events">
        <Empty title="Not followed under impersonation">
          <p>Each of your reads is recorded in the tenant’s log, so the Console does not read repeatedly.</p>
        </Empty>
      </Card>
    );
  }
  const lastMinute = seen.rate.counts.slice(-60).reduce((sum, count) => sum + count, 0);
  const types = [...seen.byType].sort(([, a], [, b]) => b - a).slice(0, TYPES);
  return (
    <>
      <Card
        title="Events per second"
        actions={
          <>
            {tail.kind === 'waiting' ? <Badge tone="warn">Reconnecting</Badge> : null}
            <span className="small muted number" data-testid="last-minute">
              <Link href="/events">{`${lastMinute.toLocaleString()} in the last minute`}</Link>
            </span>
            <Button size="small" onClick={() => setPaused(!isPaused)}>
              {isPaused ? <Play size={14} aria-hidden /> : <Pause size={14} aria-hidden />}
              {isPaused ? 'Resume' : 'Pause'}
            </Button>
          </>
        }
      >
        <RateBars
          label={`Events per second of the last three minutes: ${lastMinute} in the last minute`}
          rate={seen.rate}
        />
      </Card>
      <div className="columns">
        <Card title="Newest events" flush>
          {seen.newest.length === 0 ? (
            <Empty
              title={
                tail.kind === 'following'
                  ? 'Nothing happened since you opened this page'
                  : 'Looking for the end of the log…'
              }
            />
          ) : (
            <ul className="feed" aria-label="Newest events">
              {seen.newest.map((event) => (
                <li key={event.position}>
                  <span className="truncate">
                    <Link href={`/events?stream=${encodeURIComponent(event.stream)}`}>{event.type}</Link>
                  </span>
                  <code className="truncate muted">{event.stream.split('.').slice(1).join('.')}</code>
                  <span className="small muted">
                    <Time at={metadataOf(event).at ?? ''} relative />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Card>
        <Card title="By type, since you opened this page" flush>
          {types.length === 0 ? (
            <Empty title="No events yet" />
          ) : (
            <ul className="feed" aria-label="Events by type">
              {types.map(([type, count]) => (
                <li key={type}>
                  <span className="truncate">{type}</span>
                  <span className="number">
                    <Link href={`/events?type=${encodeURIComponent(type)}`}>{count.toLocaleString()}</Link>
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Card>
      </div>
    </>
  );
};
