import { Plus } from 'lucide-react';
import { Link } from 'wouter';
import {
  ago,
  type Column,
  Count,
  counts,
  DialogButton,
  Empty,
  Page,
  TableCard,
  useIsAdmin,
  usePages,
  useRead,
} from '../../kit/index.ts';
import { EntityDialog } from './entity-form.tsx';
import { RecordLinks } from './links.tsx';
import type { Entity } from './schema.ts';
import '../../styles/records.css';

const Records = ({ name }: { name: string }) => {
  const { data, error } = useRead(
    ['records', name, 'count', ''],
    async (client) => ({
      total: await client.count('/api/v1/tenant/entities/{name}/records', {
        params: { path: { name }, query: { count: 'true', limit: 1 } },
      }),
    }),
    { stale: 30_000 },
  );
  if (error !== null) return <>–</>;
  if (data === undefined) return <span className="skeleton" />;
  return data.total === undefined ? (
    <Link href={`/records/${name}`}>many</Link>
  ) : (
    <Count of={data.total} to={`/records/${name}`} />
  );
};

const COLUMNS: readonly Column<Entity>[] = [
  {
    key: 'label',
    title: 'Entity',
    min: 150,
    grow: 2,
    cell: ({ name, label }) => <Link href={`/records/${name}`}>{label}</Link>,
  },
  { key: 'name', title: 'Name', min: 130, cell: ({ name }) => <code>{name}</code> },
  {
    key: 'records',
    title: 'Records',
    min: 90,
    grow: 0,
    align: 'end',
    cell: ({ name }) => <Records name={name} />,
  },
  counts(
    'fields',
    'Fields',
    ({ fields }) => fields.length,
    ({ name }) => `/records/${name}`,
    80,
  ),
  {
    key: 'workflow',
    title: 'Workflow',
    min: 150,
    cell: ({ workflow }) =>
      workflow === null ? null : <Link href={`/workflows/${workflow}`}>{workflow}</Link>,
  },
  ago('changed', 'Changed', ({ updated_at }) => updated_at),
];

export default function Entities() {
  const isAdmin = useIsAdmin();
  const rows = usePages(['entities', 'list'], (client, limit) =>
    client.items('/api/v1/tenant/entities', { params: { query: { limit } } }),
  );
  return (
    <Page
      title="Records"
      about="Records by entity. An entity defines the fields of its records."
      actions={
        isAdmin ? (
          <DialogButton tone="primary" dialog={(close) => <EntityDialog onClose={close} />}>
            <Plus size={16} aria-hidden />
            New entity
          </DialogButton>
        ) : null
      }
    >
      <RecordLinks />
      <TableCard
        label="Entities"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ name }) => name}
        to={({ name }) => `/records/${name}`}
        empty={
          <Empty title="No entity yet">
            <p>An admin defines entities and their fields.</p>
          </Empty>
        }
      />
    </Page>
  );
}
