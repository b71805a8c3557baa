import { Link } from 'wouter';
import type { components } from '../../../../client/src/index.ts';
import {
  actions,
  Badge,
  Button,
  type Column,
  ConfirmButton,
  counts,
  Facts,
  Page,
  Problem,
  TableCard,
  Time,
  useAction,
  useRead,
} from '../../kit/index.ts';
import { byLabel, readMetrics } from './metrics.ts';
import { samplesPath } from './samples.tsx';
import { secondsText } from './seconds.ts';

type Projection = components['schemas']['Projection'];
interface Subscriber {
  readonly name: string;
  readonly lag: number;
  readonly behind: number;
}

/** Read models and subscribers: their lags, parked tenants, rebuild and retry. */
const Projections = () => {
  const projections = useRead(
    ['projections'],
    (client, signal) => client.get('/super/projections', { signal }),
    {
      every: 5000,
    },
  );
  const metrics = useRead(['metrics'], readMetrics, { every: 5000 });
  const lags = byLabel(metrics.data, 'workflow_projection_lag_seconds', 'projection');
  const subscriberLags = byLabel(metrics.data, 'workflow_subscriber_lag_seconds', 'subscriber');
  const behind = byLabel(metrics.data, 'workflow_subscriber_tenants_behind', 'subscriber');
  const parked = projections.data?.flatMap(({ name, parked: tenants }) =>
    tenants.map((each) => ({ ...each, projection: name })),
  );
  const columns: Column<Projection>[] = [
    { key: 'name', title: 'Read model', cell: ({ name }) => <code>{name}</code>, min: 150, grow: 2 },
    { key: 'generation', title: 'Generation', cell: ({ generation }) => generation, min: 100 },
    {
      key: 'state',
      title: 'State',
      cell: ({ state }) => <Badge tone={state === 'active' ? 'ok' : 'info'}>{state}</Badge>,
      min: 90,
      grow: 0,
    },
    {
      key: 'checkpoint',
      title: 'Folded up to',
      cell: ({ checkpoint }) => <code>{checkpoint ?? '–'}</code>,
      min: 165,
    },
    lag(({ name }) => lags.get(name), 'workflow_projection_lag_seconds'),
    {
      key: 'parked',
      title: 'Parked',
      cell: ({ parked: { length } }) =>
        length === 0 ? (
          <span className="muted">none</span>
        ) : (
          <a href="#parked">
            <Badge tone="danger">{length} tenants</Badge>
          </a>
        ),
      min: 100,
      grow: 0,
    },
    actions(105, ({ name }) => <Rebuild name={name} />),
  ];
  const subscriberColumns: Column<Subscriber>[] = [
    { key: 'name', title: 'Subscriber', cell: ({ name }) => <code>{name}</code>, min: 190, grow: 2 },
    lag((each) => each.lag, 'workflow_subscriber_lag_seconds'),
    counts(
      'behind',
      'Tenants behind',
      (each) => each.behind,
      () => samplesPath('workflow_subscriber_tenants_behind'),
      120,
    ),
  ];
  const subscribers = [...subscriberLags].map(([name, lag]) => ({
    name,
    lag,
    behind: behind.get(name) ?? 0,
  }));
  return (
    <Page title="Projections" about="Read models are built from the log and can be rebuilt at any time.">
      <div id="parked" className="stack">
        {parked?.map((each) => (
          <Parked key={`${each.projection} ${each.tenant}`} {...each} />
        ))}
      </div>
      <TableCard
        title="Read models"
        label="Read models"
        rows={projections}
        rowKey={({ name, generation }) => `${name} ${generation}`}
        columns={columns}
      />
      <TableCard
        title="Subscribers"
        label="Subscribers"
        rows={{ ...metrics, data: metrics.data === undefined ? undefined : subscribers }}
        rowKey={({ name }) => name}
        columns={subscriberColumns}
      />
    </Page>
  );
};

/** A column of lags; each links to the samples of its metric. */
const lag = <T,>(of: (row: T) => number | undefined, metric: string): Column<T> => ({
  key: 'lag',
  title: 'Lag',
  min: 80,
  align: 'end',
  cell: (row) => <Link href={samplesPath(metric)}>{secondsText(of(row))}</Link>,
});

const Rebuild = ({ name }: { name: string }) => {
  const rebuild = useAction(
    (client) => client.post('/super/projections/{name}/rebuild', { params: { path: { name } } }),
    {
      invalidates: [['projections']],
      done: ({ generation }) => `${name} is being rebuilt as ${generation}.`,
    },
  );
  return (
    <ConfirmButton
      size="small"
      aria-label={`Rebuild ${name}`}
      ask={{
        title: `Rebuild ${name}?`,
        consequence:
          'A new generation of the read model is built from the whole log. The current one answers until the new one has caught up. The rebuild needs processor time and storage.',
        action: 'Rebuild',
        tone: 'primary',
        run: () => rebuild.mutateAsync(),
      }}
    >
      Rebuild
    </ConfirmButton>
  );
};

type ParkedTenant = Projection['parked'][number] & { readonly projection: string };

const Parked = ({ projection, tenant, event_id, error, since, attempts }: ParkedTenant) => {
  const retry = useAction(
    (client) =>
      client.post('/super/projections/{name}/retry', {
        params: { path: { name: projection } },
        body: { tenant },
      }),
    { invalidates: [['projections']], done: `${tenant} is resumed.` },
  );
  return (
    <Problem error={new Error(`${tenant} is parked in ${projection}: an event could not be folded.`)}>
      <div className="stack">
        <Facts
          of={{
            Error: error,
            Event: <code>{event_id}</code>,
            Since: <Time at={since} />,
            Attempts: attempts,
          }}
        />
        <div>
          <Button onClick={() => retry.mutate()} disabled={retry.isPending}>
            Try again
          </Button>
        </div>
      </div>
    </Problem>
  );
};

export default Projections;
