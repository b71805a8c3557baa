import { Link } from 'wouter';
import type { Client } from '../../../../client/src/index.ts';
import { Pending, Time, useRead } from '../../kit/index.ts';
import { type AuditEvent, metadataOf, partsOf, streamPath } from './event.ts';

/** Time before an event in which related events are searched. */
const BEFORE_MS = 60_000;
const AFTER_MS = 5 * 60_000;
/** Maximum of events that are searched. */
const MOST = 2000;

interface Related {
  readonly events: readonly AuditEvent[];
  /** Whether the search ended at the maximum. */
  readonly isCut: boolean;
}

/** Reads the events with the same correlation id: events of one request, and events that followed from it. */
const relatedOf = async (client: Client, event: AuditEvent, signal: AbortSignal): Promise<Related> => {
  const { at = '', correlationId } = metadataOf(event);
  const ms = Date.parse(at);
  const query = {
    from: new Date(ms - BEFORE_MS).toISOString(),
    to: new Date(ms + AFTER_MS).toISOString(),
    limit: 200,
  };
  const events: AuditEvent[] = [];
  let seen = 0;
  for await (const each of client.items('/api/v1/tenant/audit/events', { params: { query }, signal })) {
    seen += 1;
    if (metadataOf(each).correlationId === correlationId) events.push(each);
    if (seen >= MOST) return { events, isCut: true };
  }
  return { events, isCut: false };
};

/** Tree of the causes and effects of an event; each links to its page. */
export const Causes = ({ event }: { event: AuditEvent }) => {
  const related = useRead(['related', event.id], (client, signal) => relatedOf(client, event, signal), {
    stale: 60_000,
  });
  if (related.data === undefined) return <Pending of={related} what="related events" />;
  const { events, isCut } = related.data;
  const ids = new Set(events.map(({ id }) => id));
  const causeOf = (each: AuditEvent): string => metadataOf(each).causationId ?? '';
  const roots = events.filter((each) => !ids.has(causeOf(each)) || causeOf(each) === each.id);
  const { correlationId } = metadataOf(event);
  return (
    <>
      <p className="small muted">
        Events with the correlation <code>{correlationId}</code>, up to five minutes later
        {isCut ? ` among the first ${MOST.toLocaleString()}; there may be more` : ''}.
      </p>
      <Branches
        events={roots}
        present={event.id}
        effectsOf={(id) => events.filter((each) => causeOf(each) === id && each.id !== id)}
      />
    </>
  );
};

interface BranchesProps {
  readonly events: readonly AuditEvent[];
  /** The event whose page this is. */
  readonly present: string;
  readonly effectsOf: (id: string) => readonly AuditEvent[];
}

const Branches = ({ events, present, effectsOf }: BranchesProps) =>
  events.length === 0 ? null : (
    <ul className="event-tree">
      {events.map((each) => (
        <li key={each.id}>
          <Link
            href={streamPath(each.stream, each.revision)}
            aria-current={each.id === present ? 'true' : undefined}
          >
            {each.type}
          </Link>{' '}
          <span className="small muted">
            {partsOf(each.stream).category} · <Time at={metadataOf(each).at ?? ''} />
          </span>
          <Branches events={effectsOf(each.id)} present={present} effectsOf={effectsOf} />
        </li>
      ))}
    </ul>
  );
