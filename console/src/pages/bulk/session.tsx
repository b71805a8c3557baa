import { Link, useParams } from 'wouter';
import {
  Card,
  ConfirmButton,
  Copied,
  Count,
  Facts,
  Page,
  pendingPage,
  Tile,
  Time,
  useAction,
  useNames,
  useRead,
  useTenant,
} from '../../kit/index.ts';
import { useEntity } from '../records/schema.ts';
import { Errors } from './errors.tsx';
import { Sample } from './sample.tsx';
import {
  filterText,
  recordsPath,
  rowsText,
  type Session,
  SessionStatus,
  skippedPath,
  titleOf,
  valueText,
} from './session-text.tsx';
import '../../styles/bulk.css';

const CRUMBS = [['/bulk', 'Bulk operations']] as const;

/** Added under impersonation, where reads are not repeated. */
const ONCE = ' Open the page again to see its progress.';

/** A session: its preview, then the progress of the commit, then the result. */
export default function SessionPage() {
  const { id = '' } = useParams();
  const read = useRead(
    ['bulk-session', id],
    (client, signal) =>
      client.get('/api/v1/tenant/bulk-ops/sessions/{id}', { params: { path: { id } }, signal }),
    { every: 1000 },
  );
  const { data } = read;
  const nameOf = useNames();
  const isImpersonated = useTenant()?.impersonatedBy !== undefined;
  if (data === undefined) return pendingPage('Bulk operation', CRUMBS, { of: read, what: 'the session' });
  return (
    <Page
      title={titleOf(data)}
      about={`${storyOf(data)}${isImpersonated && data.status === 'committing' ? ONCE : ''}`}
      crumbs={CRUMBS}
      actions={data.status === 'previewed' ? <Decide session={data} /> : undefined}
    >
      {data.progress === undefined ? null : <Progress of={data.progress} />}
      <Counts session={data} />
      <Card title="What it does">
        <Facts of={factsOf(data, nameOf)} />
      </Card>
      <Cascade session={data} />
      <Errors session={data} />
      <Sample session={data} />
    </Page>
  );
}

/** Describes the state of a session in one sentence. */
const storyOf = ({ status, preview, result }: Session): string => {
  switch (status) {
    case 'previewed':
      return 'A preview: nothing is changed yet.';
    case 'committing':
      return 'It is running. You can leave this page; the work continues.';
    case 'committed':
      return `It is done: ${rowsText(result?.succeeded ?? 0)} of ${preview.total_resolved.toLocaleString()} were changed.`;
    case 'errored':
      return `A store was unavailable: ${rowsText(result?.not_processed ?? 0)} were not processed. Changes that were made stay.`;
    case 'cancelled':
      return 'It was cancelled; nothing was changed.';
    default:
      return status satisfies never;
  }
};

const CHANGES = {
  edit: { verb: 'Edit', what: 'are edited' },
  delete: { verb: 'Delete', what: 'are deleted' },
  transition: { verb: 'Move', what: 'are moved' },
} as const;

/** Records that the commit does not change. */
const stays = ({ would_skip, would_error }: Session['preview']) => {
  const parts = [
    ...(would_skip === 0 ? [] : [`${would_skip.toLocaleString()} that have these values already`]),
    ...(would_error === 0 ? [] : [`${would_error.toLocaleString()} that are refused`]),
  ];
  return parts.length === 0 ? null : <p>Left as they are: {parts.join(', and ')}.</p>;
};

/** Buttons to commit and to cancel, each with its consequence. */
const Decide = ({ session }: { session: Session }) => {
  const { id, operation, preview, entity_name } = session;
  const params = { path: { id } };
  const options = {
    invalidates: [['bulk-session', id], ['bulk-sessions'], ['records']],
  } as const;
  const commit = useAction(
    (client) => client.post('/api/v1/tenant/bulk-ops/sessions/{id}/commit', { params }),
    options,
  );
  const cancel = useAction(
    (client) => client.post('/api/v1/tenant/bulk-ops/sessions/{id}/cancel', { params }),
    options,
  );
  const { verb, what } = CHANGES[operation];
  const beside = preview.cascade_summary?.total ?? 0;
  return (
    <>
      <ConfirmButton
        ask={{
          title: 'Cancel this operation?',
          consequence: 'Nothing was changed, and nothing will be. A cancelled operation cannot be committed.',
          action: 'Cancel the operation',
          run: () => cancel.mutateAsync(),
        }}
      >
        Cancel
      </ConfirmButton>
      <ConfirmButton
        tone={operation === 'delete' ? 'danger' : 'primary'}
        disabled={preview.would_succeed === 0}
        ask={{
          title: `${verb} ${rowsText(preview.would_succeed)}?`,
          consequence: (
            <>
              <p>
                {rowsText(preview.would_succeed)} of <strong>{entity_name}</strong> {what}
                {beside === 0 ? '' : `, and ${rowsText(beside)} are deleted or changed through references`}.
                Each is checked again and sent to webhooks and posting rules like a single change.
              </p>
              {stays(preview)}
              <p>It cannot be stopped once it has started.</p>
            </>
          ),
          action: `${verb} ${rowsText(preview.would_succeed)}`,
          tone: operation === 'delete' ? 'danger' : 'primary',
          ...(operation === 'delete' ? { typed: entity_name } : {}),
          run: () => commit.mutateAsync(),
        }}
      >
        Commit
      </ConfirmButton>
    </>
  );
};

const Progress = ({ of: { processed, total } }: { of: { processed: number; total: number } }) => {
  const share = total === 0 ? 0 : Math.floor((100 * processed) / total);
  return (
    <Card title={`${processed.toLocaleString()} of ${rowsText(total)}`}>
      <div
        className="progress"
        role="progressbar"
        aria-label="Records processed"
        aria-valuenow={share}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <div style={{ width: `${share}%` }} />
      </div>
    </Card>
  );
};

/** The counts of the result, or of the preview before there is a result. Each links to its records or errors. */
const Counts = ({ session }: { session: Session }) => {
  const { preview, result } = session;
  const [done, skipped, failed] =
    result === undefined
      ? [preview.would_succeed, preview.would_skip, preview.would_error]
      : [result.succeeded, result.skipped, result.errored];
  const isOver = result !== undefined;
  const at = (id: string, count: number): string | undefined => (count === 0 ? undefined : `#${id}`);
  const fields = useEntity(session.entity_name).data?.fields ?? [];
  return (
    <div className="tiles">
      <Tile
        label="Selected"
        value={preview.total_resolved.toLocaleString()}
        detail="At the time of the preview"
        to={recordsPath(session)}
      />
      <Tile
        label={isOver ? 'Changed' : 'Would change'}
        value={done.toLocaleString()}
        to={at('sample', done)}
      />
      <Tile
        label={isOver ? 'Skipped' : 'Would be skipped'}
        value={skipped.toLocaleString()}
        detail={isOver ? 'Had these values already' : 'Have these values already'}
        to={skipped === 0 ? undefined : skippedPath(session, fields)}
      />
      <Tile
        label={isOver ? 'Refused' : 'Would be refused'}
        value={failed.toLocaleString()}
        to={at('errors', failed)}
      />
    </div>
  );
};

const factsOf = (session: Session, nameOf: (id: string) => string) => {
  const { op_params, selection, id, created_at, created_by, committed_by, result, cancelled_at } = session;
  const path = recordsPath(session);
  return {
    Records:
      selection.kind === 'filter' ? (
        <Link href={path ?? ''}>
          <code>{filterText(selection.filter_expr)}</code>
        </Link>
      ) : path === undefined ? (
        'A list of ids'
      ) : (
        <Link href={path}>A list of ids</Link>
      ),
    Changes:
      op_params.kind === 'edit' ? (
        <ul>
          {op_params.fields.map(({ field_key, new_value }) => (
            <li key={field_key}>
              <code>{field_key}</code>: {new_value === null ? <i>removed</i> : valueText(new_value)}
            </li>
          ))}
        </ul>
      ) : undefined,
    Transition: op_params.kind === 'transition' ? <code>{op_params.event_name}</code> : undefined,
    Status: <SessionStatus status={session.status} />,
    'Matched at the commit':
      session.count_at_commit === undefined ? undefined : <Count of={session.count_at_commit} to={path} />,
    Made: <Time at={created_at} />,
    By: <span title={created_by}>{nameOf(created_by)}</span>,
    'Committed by':
      committed_by === undefined ? undefined : <span title={committed_by}>{nameOf(committed_by)}</span>,
    Ended: result === undefined ? undefined : <Time at={result.committed_at} />,
    Cancelled: cancelled_at === undefined ? undefined : <Time at={cancelled_at} />,
    Id: <Copied text={id} what="id" />,
  };
};

const Cascade = ({ session: { preview, result } }: { session: Session }) => {
  const cascade = result?.cascade_applied ?? preview.cascade_summary;
  if (cascade === undefined || cascade.total === 0) return null;
  return (
    <Card title={`${rowsText(cascade.total)} through references`} flush>
      <ul className="feed">
        {cascade.by_entity.map(({ entity_name, action, count }) => (
          <li key={`${entity_name} ${action}`}>
            <Link href={`/records/${entity_name}`}>{entity_name}</Link>
            <span>
              <Count of={count} to={`/records/${entity_name}`} label={`records of ${entity_name}`} />{' '}
              {action === 'delete' ? 'deleted' : 'references cleared'}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
};
