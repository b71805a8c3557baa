import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  ago,
  Badge,
  Button,
  type Column,
  Copy,
  counts,
  Empty,
  Page,
  TableCard,
  toast,
  useAction,
  usePages,
} from '../../kit/index.ts';
import { useStreams } from '../events/event.ts';
import { LedgerLinks } from './range.tsx';
import '../../styles/ledger.css';

type Failure = components['schemas']['PostingFailure'];

/** Events that a posting rule could not be applied to, each with a way to try again. */
export default function Failures() {
  const streamOf = useStreams();
  const rows = usePages(['posting-failures'], (client, limit) =>
    client.items('/api/v1/tenant/gl/posting-failures', { params: { query: { limit } } }),
  );
  const retry = useAction(
    async (client, id: string) => {
      const { resolved_at, message } = await client.post('/api/v1/tenant/gl/posting-failures/{id}/retry', {
        params: { path: { id } },
      });
      if (resolved_at === undefined) toast(`It failed again: ${message}`, 'danger');
      else toast('The entry is written; the failure is resolved.');
    },
    { invalidates: [['posting-failures'], ['entries'], ['reports']] },
  );
  const columns: readonly Column<Failure>[] = [
    ago('created', 'When', ({ created_at }) => created_at),
    { key: 'code', title: 'Reason', min: 150, cell: ({ code }) => <code>{code}</code> },
    {
      key: 'message',
      title: 'What was wrong',
      min: 240,
      grow: 3,
      cell: ({ message }) => <span title={message}>{message}</span>,
    },
    {
      key: 'rule',
      title: 'Rule',
      min: 110,
      grow: 0,
      cell: ({ rule_id }) => <Link href={`/ledger/rules/${rule_id}`}>Open rule</Link>,
    },
    {
      key: 'event',
      title: 'Event',
      min: 150,
      cell: ({ event_id, source_kind }) => (
        <>
          {source_kind} <Copy text={event_id} label="Copy the id of the event" />
        </>
      ),
    },
    counts(
      'attempts',
      'Attempts',
      ({ attempts }) => attempts,
      ({ id }) => streamOf('posting_failure', id),
    ),
    actions(110, ({ id, resolved_at }) =>
      resolved_at === undefined ? (
        <Button size="small" onClick={() => retry.mutate(id)}>
          Try again
        </Button>
      ) : (
        <Badge tone="ok">Resolved</Badge>
      ),
    ),
  ];
  return (
    <Page
      title="Posting failures"
      about="Events to which a rule could not be applied. Fix the cause first, for example create the missing account; then try again."
      crumbs={[['/ledger', 'Ledger']]}
    >
      <LedgerLinks />
      <TableCard
        label="Posting failures"
        rows={rows}
        columns={columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No failures">
            <p>Every event that a rule applies to has its entry.</p>
          </Empty>
        }
      />
    </Page>
  );
}
