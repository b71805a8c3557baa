import { Link } from 'wouter';
import { ago, type Column, Empty, Page, TableCard, usePages } from '../../kit/index.ts';
import { filterText, rowsText, type Session, SessionStatus, titleOf } from './session-text.tsx';
import '../../styles/bulk.css';

const selectionText = ({ selection }: Session): string => {
  if (selection.kind === 'ids') return 'a list of ids';
  const text = filterText(selection.filter_expr);
  return text === 'true' ? 'all' : text;
};

/** The result of a session that has ended; the progress of a commit; the expected changes of a preview. */
const outcomeOf = ({ result, progress, preview, status }: Session): string => {
  if (result !== undefined) {
    const errors = result.errored === 0 ? '' : `, ${result.errored.toLocaleString()} refused`;
    return `${result.succeeded.toLocaleString()} changed${errors}`;
  }
  if (progress !== undefined)
    return `${progress.processed.toLocaleString()} of ${progress.total.toLocaleString()}`;
  return status === 'previewed' ? `${preview.would_succeed.toLocaleString()} would change` : '';
};

const pathOf = ({ id }: Session): string => `/bulk/${id}`;

const COLUMNS: readonly Column<Session>[] = [
  {
    key: 'operation',
    title: 'Operation',
    min: 180,
    grow: 2,
    cell: (session) => <Link href={pathOf(session)}>{titleOf(session)}</Link>,
  },
  { key: 'selection', title: 'Selection', min: 200, grow: 3, cell: (session) => selectionText(session) },
  {
    key: 'rows',
    title: 'Size',
    min: 110,
    grow: 0,
    cell: (session) => <Link href={pathOf(session)}>{rowsText(session.preview.total_resolved)}</Link>,
  },
  { key: 'status', title: 'Status', min: 110, grow: 0, cell: SessionStatus },
  {
    key: 'outcome',
    title: 'Outcome',
    min: 190,
    grow: 2,
    cell: (session) => {
      const text = outcomeOf(session);
      return text === '' ? null : <Link href={pathOf(session)}>{text}</Link>;
    },
  },
  ago('created', 'Created', ({ created_at }) => created_at),
];

/** Bulk sessions of all admins. The list is read again every two seconds while it has few pages. */
export default function Sessions() {
  const rows = usePages(
    ['bulk-sessions'],
    (client, limit) => client.items('/api/v1/tenant/bulk-ops/sessions', { params: { query: { limit } } }),
    { every: 2000, size: 50 },
  );
  return (
    <Page
      title="Bulk operations"
      about="Edit, delete or move many records at once: look at a preview first, then commit or cancel it."
      actions={
        <Link href="/bulk/new" className="button button-primary">
          New operation
        </Link>
      }
    >
      <TableCard
        label="Bulk operations"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => id}
        to={pathOf}
        empty={
          <Empty title="No bulk operation yet">
            <p>Create one: nothing is changed before you have seen its preview.</p>
          </Empty>
        }
      />
    </Page>
  );
}
