import {
  Button,
  Card,
  Copied,
  CopyBox,
  Download,
  Facts,
  Page,
  Pending,
  Time,
  useRead,
} from '../../kit/index.ts';
import { EventLinks } from './links.tsx';
import '../../styles/events.css';

const NDJSON = { headers: { Accept: 'application/x-ndjson' } };

/** The signed head of the tenant's streams, the export, and how to verify both without this server. */
export default function Verification() {
  const proof = useRead(
    ['audit-proof'],
    (client, signal) => client.get('/api/v1/tenant/audit/proof', { signal }),
    {
      stale: 30_000,
    },
  );
  return (
    <Page
      title="Verification"
      about="Each event carries the hash of the one before it in its stream. A signed head covers the last hash of every stream."
    >
      <EventLinks />
      <Card
        title="Signed head"
        actions={
          <Button size="small" onClick={() => void proof.refetch()}>
            Sign the current state
          </Button>
        }
      >
        {proof.data === undefined || proof.error !== null ? (
          <Pending of={proof} what="the signed head" />
        ) : (
          <Facts
            of={{
              Signed: <Time at={proof.data.signed_at} />,
              Position: <Copied text={proof.data.position} what="position" />,
              Root: <Copied text={proof.data.root} what="root" />,
              Algorithm: proof.data.algorithm,
              'Public key': <Copied text={proof.data.public_key} what="public key" />,
              Signature: <Copied text={proof.data.signature} what="signature" />,
            }}
          />
        )}
      </Card>
      <Card title="Verify it yourself">
        <ol className="event-steps">
          <li>
            <p>Download the proof, then the events. Both are lines of JSON.</p>
            <div className="row">
              <Download
                read={(client) => client.stream('/api/v1/tenant/audit/proof', NDJSON)}
                name="proof.ndjson"
                text="Download the proof"
              />
              <Download
                read={(client) => client.stream('/api/v1/tenant/audit/events', NDJSON)}
                name="events.ndjson"
                text="Download the events"
              />
            </div>
          </li>
          <li>
            <p>
              Get the public key from the operator in another way than from this page, for example on paper: a
              key from the server that is checked proves nothing.
            </p>
          </li>
          <li>
            <p>Run the verifier on a machine of your own. It needs neither this server nor a network.</p>
            <CopyBox
              what="the command"
              text={
                'npm run -s verify -- --export events.ndjson --proof proof.ndjson --public-key KEY --not-before INSTANT'
              }
            />
          </li>
          <li>
            <p>
              It answers <code>verified</code>, or names the first event that was changed, removed, inserted
              or moved. Events after the signed head are counted; <code>--strict</code> refuses them.
            </p>
          </li>
        </ol>
      </Card>
    </Page>
  );
}
