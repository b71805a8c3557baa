import { Link } from 'wouter';
import type { Client } from '../../../../client/src/index.ts';
import { Button, Card, type Column, DataTable, Download, useFilters, useRead } from '../../kit/index.ts';
import { rowsOf } from './csv.ts';
import type { Session } from './session-text.tsx';

interface RowError {
  readonly record_id: string;
  readonly current_state: string;
  readonly code: string;
  readonly message: string;
}

/** Maximum of errors that are shown; the file has all errors. */
const MOST = 1000;

const streamOf = (client: Client, id: string) =>
  client.stream('/api/v1/tenant/bulk-ops/sessions/{id}/errors.csv', { params: { path: { id } } });

/** Reads the first errors of a commit from the file: no other route returns them. */
const readErrors = async (client: Client, id: string): Promise<RowError[]> => {
  const reader = (await streamOf(client, id)).getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let isDone = false; !isDone && text.split('\n').length <= MOST + 2; ) {
      const { done, value } = await reader.read();
      isDone = done;
      text += decoder.decode(value, { stream: !done });
    }
  } finally {
    await reader.cancel();
  }
  return rowsOf(text, MOST + 1)
    .slice(1)
    .map(([record_id = '', current_state = '', code = '', message = '']) => ({
      record_id,
      current_state,
      code,
      message,
    }));
};

/** Refused records by error code, and a file of all of them. */
export const Errors = ({ session }: { session: Session }) => {
  const { id, preview, result } = session;
  const filters = useFilters(['code']);
  const total = result?.errored ?? preview.would_error;
  const isOver = result !== undefined;
  const read = useRead(['bulk-errors', id, isOver], (client) => readErrors(client, id), {
    enabled: isOver && total > 0,
  });
  if (total === 0) return null;
  const all = isOver ? read : { data: preview.errors, error: null, refetch: () => undefined };
  const counts = new Map<string, number>();
  for (const { code } of all.data ?? []) counts.set(code, (counts.get(code) ?? 0) + 1);
  const chosen = filters.of('code');
  const rows = { ...all, data: all.data?.filter(({ code }) => chosen === '' || code === chosen) };
  const columns: readonly Column<RowError>[] = [
    {
      key: 'record',
      title: 'Record',
      min: 110,
      grow: 0,
      cell: ({ record_id, code }) =>
        code === 'record_not_found' ? (
          <code title={record_id}>{record_id.slice(0, 8)}…</code>
        ) : (
          <Link href={`/records/${session.entity_name}/${record_id}`}>{record_id.slice(0, 8)}…</Link>
        ),
    },
    { key: 'state', title: 'State', min: 100, grow: 0, cell: ({ current_state }) => current_state },
    { key: 'code', title: 'Code', min: 170, grow: 0, cell: ({ code }) => <code>{code}</code> },
    {
      key: 'message',
      title: 'Why',
      min: 240,
      grow: 3,
      cell: ({ message }) => <span title={message}>{message}</span>,
    },
  ];
  return (
    <div id="errors">
      <Card
        flush
        title={isOver ? 'Refused' : 'Would be refused'}
        actions={
          <Download
            size="small"
            name={`errors-${id}.csv`}
            text="Download errors.csv"
            read={(client) => streamOf(client, id)}
          />
        }
      >
        <ul className="feed" aria-label="Errors by code">
          {[...counts].map(([code, count]) => (
            <li key={code}>
              <code>{code}</code>
              <span>
                <Button
                  size="small"
                  tone="ghost"
                  aria-pressed={code === chosen}
                  aria-label={`${count.toLocaleString()}: show those refused with ${code}`}
                  onClick={() => filters.set('code', code === chosen ? '' : code)}
                >
                  {count.toLocaleString()}
                </Button>
                {total > MOST ? ` of the first ${MOST.toLocaleString()}` : ''}
              </span>
            </li>
          ))}
        </ul>
        <DataTable
          label="Errors"
          rows={rows}
          columns={columns}
          rowKey={({ record_id, code }) => `${record_id} ${code}`}
        />
      </Card>
    </div>
  );
};
