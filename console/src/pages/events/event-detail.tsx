import { Link } from 'wouter';
import { Card, Copied, Facts, Json, Tabs, Time } from '../../kit/index.ts';
import { Causes } from './causes.tsx';
import { type AuditEvent, storyOf } from './event.ts';

/** One event: its opened data, its cause, its subject, and the texts that the hash chain covers. */
export const EventDetail = ({ event }: { event: AuditEvent }) => {
  const story = storyOf(event);
  return (
    <Card title={event.type}>
      <Tabs
        label="Parts of the event"
        tabs={[
          { key: 'data', title: 'Data', content: <EventData event={event} /> },
          {
            key: 'about',
            title: 'About',
            content: (
              <Facts
                of={{
                  'Occurred at': story.at === undefined ? undefined : <Time at={story.at} />,
                  Actor: [story.actorKind, story.actorId].filter((part) => part !== undefined).join(' '),
                  'Impersonated by': story.impersonatedBy,
                  Id: <Copied text={event.id} what="id of the event" />,
                  Position: <Copied text={event.position} what="position" />,
                  Correlation: story.correlationId && (
                    <Copied text={story.correlationId} what="correlation" />
                  ),
                  Causation: story.causationId && <Copied text={story.causationId} what="causation" />,
                  Trace: story.trace && <Copied text={story.trace} what="trace" />,
                  'The ledger then': (
                    <Link href={`/ledger?as_of_position=${encodeURIComponent(event.position)}`}>
                      Reports as of this position
                    </Link>
                  ),
                }}
              />
            ),
          },
          { key: 'causes', title: 'Causes and effects', content: <Causes event={event} /> },
          {
            key: 'chain',
            title: 'Hash chain',
            content: (
              <>
                <Facts
                  of={{
                    Hash: story.hash && <Copied text={story.hash} what="hash" />,
                    'Hash before': story.previousHash && (
                      <Copied text={story.previousHash} what="hash before" />
                    ),
                  }}
                />
                <p className="small muted">
                  The hash is computed over these texts exactly as they are stored, with personal texts
                  sealed. <Link href="/events/verification">How to verify them</Link>
                </p>
                <Json value={event.sealed} open={1} />
              </>
            ),
          },
        ]}
      />
    </Card>
  );
};

const EventData = ({ event: { data } }: { event: AuditEvent }) =>
  data === null ? (
    <p className="problem">The data of this event is damaged. Run the verification for details.</p>
  ) : (
    <Json value={data} open={3} />
  );
