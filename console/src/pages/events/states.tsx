import { Card, Json, Pending, Tabs, useRead } from '../../kit/index.ts';
import { Differences } from './differences.tsx';
import type { AuditEvent } from './event.ts';

/** The state of a stream after an event. Only an erasure changes a past state, so it is read once. */
const usePastState = (stream: string, position: string | undefined) =>
  useRead(
    ['past-state', stream, position ?? ''],
    async (client, signal) => {
      if (position === undefined) return { state: undefined };
      const { state } = await client.get('/api/v1/tenant/audit/streams/{stream}/state', {
        params: { path: { stream }, query: { at: position } },
        signal,
      });
      return { state };
    },
    { stale: Number.POSITIVE_INFINITY },
  );

interface StatesProps {
  readonly stream: string;
  readonly event: AuditEvent;
  readonly before: AuditEvent | undefined;
  readonly all: readonly AuditEvent[];
  /** The revision to compare with; empty: the previous revision. */
  readonly other: string;
  readonly compare: (revision: string) => void;
}

/** The state after an event, and the difference from an earlier or later state. */
export const States = ({ stream, event, before, all, other, compare }: StatesProps) => {
  const chosen = other === '' ? before : all.find(({ revision }) => String(revision) === other);
  const after = usePastState(stream, event.position);
  const earlier = usePastState(stream, chosen?.position);
  const isReady = after.isSuccess && earlier.isSuccess;
  const pending = <Pending of={[after, earlier]} what="the state" />;
  return (
    <Card title={`State after revision ${event.revision}`}>
      <Tabs
        label="State"
        tabs={[
          {
            key: 'difference',
            title: 'What changed',
            content: (
              <>
                <label className="filter event-with">
                  <span>Compared with</span>
                  <select className="input" value={other} onChange={({ target }) => compare(target.value)}>
                    <option value="">the event before</option>
                    {all.map(({ revision, type }) => (
                      <option key={revision} value={revision}>
                        revision {revision}, {type}
                      </option>
                    ))}
                  </select>
                </label>
                {isReady ? <Differences before={earlier.data.state} after={after.data.state} /> : pending}
              </>
            ),
          },
          {
            key: 'state',
            title: 'Whole state',
            content: isReady ? <Json value={after.data.state} open={2} /> : pending,
          },
        ]}
      />
    </Card>
  );
};
