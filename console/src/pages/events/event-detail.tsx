import { Link } from 'wouter';
import { Card, Copied, Facts, Json, Tabs, Time } from '../../kit/index.ts';
import { Causes } from './causes.tsx';
import { type AuditEvent, metadataOf } from './event.ts';

/** One event: its opened data, its cause, its subject, and the texts that the hash chain covers. */
export const EventDetail = ({ event }: { event: AuditEvent }) => {
  const metadata = metadataOf(event);
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
                  'Occurred at': metadata.at === undefined ? undefined : <Time at={metadata.at} />,
                  Actor: [metadata.actorKind, metadata.actorId]
                    .filter((part) => part !== undefined)
                    .join(' '),
                  'Impersonated by': metadata.impersonatedBy,
                  Id: <Copied text={event.id} what="id of the event" />,
                  Position: <Copied text={event.position} what="position" />,
                  Correlation: metadata.correlationId && (
                    <Copied text={metadata.correlationId} what="correlation" />
                  ),
                  Causation: metadata.causationId && <Copied text={metadata.causationId} what="causation" />,
                  Trace: metadata.trace && <Copied text={metadata.trace} what="trace" />,
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
                    Hash: metadata.hash && <Copied text={metadata.hash} what="hash" />,
                    'Hash before': metadata.previousHash && (
                      <Copied text={metadata.previousHash} what="hash before" />
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
