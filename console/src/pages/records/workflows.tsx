import { Link, useParams } from 'wouter';
import {
  ago,
  Badge,
  Card,
  type Column,
  ConfirmButton,
  Count,
  counts,
  Empty,
  Facts,
  Page,
  pendingPage,
  TableCard,
  Time,
  useAction,
  useIsAdmin,
  usePages,
} from '../../kit/index.ts';
import { useStreamOf } from '../events/event.ts';
import { publishedOf } from './job.tsx';
import { RecordLinks } from './links.tsx';
import { MachineDrawing } from './machine-drawing.tsx';
import { useEntities, useWorkflow, type Workflow } from './schema.ts';
import '../../styles/records.css';

const pathOf = ({ name }: Workflow): string => `/workflows/${name}`;

const COLUMNS: readonly Column<Workflow>[] = [
  {
    key: 'name',
    title: 'Workflow',
    min: 160,
    grow: 2,
    cell: (workflow) => <Link href={pathOf(workflow)}>{workflow.name}</Link>,
  },
  {
    key: 'status',
    title: 'Status',
    min: 150,
    cell: (workflow) => (
      <>
        {workflow.version > 0 ? (
          <Link href={pathOf(workflow)}>
            <Badge tone="ok">Version {workflow.version}</Badge>
          </Link>
        ) : null}{' '}
        {workflow.status === 'draft' ? <Badge tone="warn">Draft</Badge> : null}
      </>
    ),
  },
  counts('states', 'States', ({ states }) => states.length, pathOf, 80),
  counts('transitions', 'Transitions', ({ transitions }) => transitions.length, pathOf, 100),
  ago('changed', 'Changed', ({ updated_at }) => updated_at),
];

/** The workflows of the tenant, or one of them. */
export default function Workflows() {
  const { name } = useParams();
  return name === undefined ? <List /> : <One name={name} />;
}

const List = () => {
  const rows = usePages(['workflows', 'list'], (client, limit) =>
    client.items('/api/v1/tenant/workflows', { params: { query: { limit } } }),
  );
  return (
    <Page title="Workflows" about="The states and transitions that the jobs of records run in.">
      <RecordLinks />
      <TableCard
        label="Workflows"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ name }) => name}
        to={pathOf}
        empty={
          <Empty title="No workflow yet">
            <p>
              An admin creates one with <code>POST /api/v1/tenant/workflows</code>.
            </p>
          </Empty>
        }
      />
    </Page>
  );
};

const CRUMBS = [['/workflows', 'Workflows']] as const;

const One = ({ name }: { name: string }) => {
  const read = useWorkflow(name);
  const stream = useStreamOf('workflow', name);
  const entities = useEntities();
  const isAdmin = useIsAdmin();
  const publish = useAction(
    (client) => client.post('/api/v1/tenant/workflows/{name}/publish', { params: { path: { name } } }),
    { invalidates: [['workflows']], done: ({ version }) => `Version ${version} was published.` },
  );
  const { data } = read;
  if (data === undefined) return pendingPage(name, CRUMBS, { of: read, what: 'the workflow' });
  const users = entities.data?.filter(({ workflow }) => workflow === name) ?? [];
  const published = publishedOf(data);
  const canPublish = data.status === 'draft' && isAdmin;
  return (
    <Page
      title={name}
      crumbs={CRUMBS}
      actions={
        canPublish ? (
          <ConfirmButton
            tone="primary"
            ask={{
              title: `Publish the draft of ${name}?`,
              consequence: `It becomes version ${data.version + 1}: new jobs start with it, running jobs keep their version.`,
              action: 'Publish',
              tone: 'primary',
              run: () => publish.mutateAsync(),
            }}
          >
            Publish the draft
          </ConfirmButton>
        ) : null
      }
    >
      <Card title="Workflow">
        <Facts
          of={{
            'Published version':
              data.version === 0 ? (
                'none yet'
              ) : (
                <Count of={data.version} to={stream} label="the events of the workflow" />
              ),
            Published: data.published_at === null ? undefined : <Time at={data.published_at} />,
            'Used by':
              users.length === 0
                ? 'no entity'
                : users.map((one) => (
                    <Link key={one.name} href={`/records/${one.name}`}>
                      {one.label}{' '}
                    </Link>
                  )),
          }}
        />
      </Card>
      {published === undefined ? null : (
        <Card title={`Version ${data.version}`}>
          <MachineDrawing name={name} definition={published} />
        </Card>
      )}
      {data.status === 'draft' ? (
        <Card title="Draft">
          <MachineDrawing name={`${name}, draft`} definition={data} />
        </Card>
      ) : null}
    </Page>
  );
};
