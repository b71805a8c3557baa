import { Plus } from 'lucide-react';
import { useState } from 'react';
import { Link, useLocation, useParams } from 'wouter';
import {
  ago,
  Badge,
  Button,
  Card,
  type Column,
  Empty,
  Page,
  pendingPage,
  TableCard,
  useFilters,
  useIsAdmin,
  usePages,
  useRead,
} from '../../kit/index.ts';
import { EntityDialog } from './entity-form.tsx';
import { FilterInput, isFilterFault, useFilterNames } from './filter-input.tsx';
import { RecordDialog } from './record-form.tsx';
import {
  type Entity,
  type EntityRecord,
  recordPath,
  titleOf,
  useEntity,
  useWorkflow,
  type Workflow,
} from './schema.ts';
import { CellValue } from './value.tsx';
import '../../styles/records.css';

const CRUMBS = [['/records', 'Records']] as const;
/** Maximum of columns with fields; the page of a record shows all fields. */
const MOST_COLUMNS = 12;
/** Fewer, larger pages for long tables. */
const PAGE = 200;

export default function Records() {
  const { entity: name = '' } = useParams();
  const entity = useEntity(name);
  const workflow = useWorkflow(entity.data?.workflow);
  if (entity.data === undefined) return pendingPage(name, CRUMBS, { of: entity, what: 'the entity' });
  return <Table key={name} entity={entity.data} workflow={workflow.data} />;
}

const columnsOf = (entity: Entity, workflow: Workflow | undefined): readonly Column<EntityRecord>[] => {
  const [first, ...fields] = entity.fields;
  const labels = new Map(workflow?.states.map(({ key, label }) => [key, label]));
  return [
    {
      key: first?.key ?? 'id',
      title: first?.label ?? 'Id',
      min: 180,
      grow: 2,
      isSortable: first?.type !== 'json',
      cell: (record) => {
        const value = first === undefined ? undefined : record.values[first.key];
        return (
          <Link href={recordPath(entity.name, record.id)}>
            {first?.type === 'text' && typeof value === 'string' && value.trim() !== ''
              ? value
              : titleOf(entity.fields, record)}
          </Link>
        );
      },
    },
    ...(entity.workflow === null
      ? []
      : [
          {
            key: 'state',
            title: 'State',
            min: 120,
            grow: 0,
            isSortable: true,
            cell: ({ state }: EntityRecord) =>
              state === null ? null : <Badge tone="info">{labels.get(state) ?? state}</Badge>,
          },
        ]),
    ...fields.slice(0, MOST_COLUMNS).map(
      (field): Column<EntityRecord> => ({
        key: field.key,
        title: field.label,
        min: field.type === 'text' || field.type === 'long_text' ? 160 : 120,
        isSortable: field.type !== 'json',
        align: field.type === 'integer' || field.type === 'decimal' ? 'end' : 'start',
        cell: ({ values }) => <CellValue field={field} value={values[field.key]} />,
      }),
    ),
    { ...ago<EntityRecord>('updated_at', 'Changed', ({ updated_at }) => updated_at), isSortable: true },
  ];
};

/** Path of a new bulk operation on the records that the filter selects. */
const bulkPath = (entity: string, filter: string): string =>
  `/bulk/new?${new URLSearchParams({ entity, ...(filter === '' ? {} : { filter }) })}`;

const Table = ({ entity, workflow }: { entity: Entity; workflow: Workflow | undefined }) => {
  const { name } = entity;
  const [, navigate] = useLocation();
  const [dialog, setDialog] = useState<'record' | 'schema'>();
  const isAdmin = useIsAdmin();
  const filters = useFilters(['filter', 'sort']);
  const [filter, sort] = [filters.of('filter'), filters.of('sort')];
  const names = useFilterNames(entity, workflow);
  const query = filters.given('filter', 'sort');
  const rows = usePages(
    ['records', name, query],
    (client, limit) =>
      client.items('/api/v1/tenant/entities/{name}/records', {
        params: { path: { name }, query: { ...query, limit } },
      }),
    { size: PAGE },
  );
  const count = useRead(
    ['records', name, 'count', filter],
    async (client) => ({
      total: await client.count('/api/v1/tenant/entities/{name}/records', {
        params: { path: { name }, query: { ...filters.given('filter'), count: 'true', limit: 1 } },
      }),
    }),
    { enabled: rows.isSuccess },
  );
  const hidden = entity.fields.length - 1 - MOST_COLUMNS;
  const total = count.data?.total;
  return (
    <Page
      title={entity.label}
      about={
        <>
          {total === undefined
            ? 'Records'
            : `${total.toLocaleString()} ${total === 1 ? 'record' : 'records'}`}
          {filter === '' ? '' : ' that match the filter'}
          {hidden > 0 ? `; ${hidden} more fields are on the page of each record` : ''}
        </>
      }
      crumbs={CRUMBS}
      actions={
        <>
          {isAdmin ? (
            <>
              <Link href={bulkPath(name, filter)} className="button button-plain">
                {filter === '' ? 'Change all' : 'Change these'}
              </Link>
              <Button onClick={() => setDialog('schema')}>Fields</Button>
            </>
          ) : null}
          <Button tone="primary" onClick={() => setDialog('record')}>
            <Plus size={16} aria-hidden />
            New record
          </Button>
        </>
      }
    >
      <Card>
        <FilterInput
          names={names}
          applied={filter}
          apply={(text) => (text === filter ? void rows.refetch() : filters.set('filter', text))}
          error={rows.error}
        />
      </Card>
      {isFilterFault(rows.error) ? null : (
        <TableCard
          label={entity.label}
          rows={rows}
          columns={columnsOf(entity, workflow)}
          rowKey={({ id }) => id}
          rowHeight={40}
          to={({ id }) => recordPath(name, id)}
          total={total}
          sort={{
            by: sort === '' ? undefined : sort.replace(/^-/, ''),
            isDescending: sort.startsWith('-'),
            change: (by, isDescending) => filters.set('sort', `${isDescending ? '-' : ''}${by}`),
          }}
          empty={
            <Empty title={filter === '' ? 'No record yet' : 'No record matches the filter'}>
              <p>{filter === '' ? 'Add the first one.' : 'Change the filter, or clear it.'}</p>
            </Empty>
          }
        />
      )}
      {dialog === 'record' ? (
        <RecordDialog
          entity={entity}
          onClose={() => setDialog(undefined)}
          onDone={({ id }) => navigate(recordPath(name, id))}
        />
      ) : null}
      {dialog === 'schema' ? <EntityDialog entity={entity} onClose={() => setDialog(undefined)} /> : null}
    </Page>
  );
};
