import { useEffect, useState } from 'react';
import { Chart } from '../../kit/chart.tsx';
import { Card, Page, Tile, useRead } from '../../kit/index.ts';
import { readMetrics, sumOf, worstOf } from './metrics.ts';
import { Samples, samplesPath } from './samples.tsx';
import { secondsText } from './seconds.ts';

const EVERY_MS = 2000;
const POINTS = 150;

const FIGURES = [
  ['Open posting failures', 'workflow_posting_failures_open'],
  ['Bulk rows queued', 'workflow_bulk_rows_queued'],
  ['Sockets open', 'workflow_websockets_open'],
] as const;

interface Point {
  /** Seconds since 1970. */
  readonly at: number;
  readonly total: number;
}

/** The whole platform at a glance, from the metrics of the node that answers. */
const PlatformOverview = () => {
  const metrics = useRead(['metrics'], readMetrics, { every: EVERY_MS });
  const { data, dataUpdatedAt } = metrics;
  const [points, setPoints] = useState<readonly Point[]>([]);
  useEffect(() => {
    if (data === undefined) return;
    const point = { at: dataUpdatedAt / 1000, total: sumOf(data, 'workflow_events_appended_total') };
    setPoints((before) => [...before, point].slice(-POINTS));
  }, [data, dataUpdatedAt]);
  const rates = points.slice(1).map(({ at, total }, nth) => {
    const { at: since = at, total: before = total } = points[nth] ?? {};
    return at > since ? Math.max(0, (total - before) / (at - since)) : 0;
  });
  const attempts = 'workflow_webhook_attempt_duration_seconds_count';
  const tried = sumOf(data, attempts);
  const delivered = sumOf(data, attempts, { result: 'delivered' });
  const lag = worstOf(data, 'workflow_projection_lag_seconds');
  const subscriber = worstOf(data, 'workflow_subscriber_lag_seconds');
  return (
    <Page title="Platform" about="All tenants, as seen by the server that answers.">
      <div className="grid">
        <Tile
          label="Lag of projections"
          error={metrics.error}
          value={data === undefined ? undefined : secondsText(lag?.value)}
          detail={`${sumOf(data, 'workflow_projection_parked_tenants')} tenants parked`}
          to="/platform/projections"
        />
        <Tile
          label="Lag of subscribers"
          error={metrics.error}
          value={data === undefined ? undefined : secondsText(subscriber?.value)}
          detail={
            subscriber === undefined || subscriber.value === 0
              ? 'all have caught up'
              : subscriber.labels.subscriber
          }
          to="/platform/projections"
        />
        <Tile
          label="Webhook attempts delivered"
          error={metrics.error}
          value={
            data === undefined
              ? undefined
              : tried === 0
                ? '–'
                : `${Math.floor((1000 * delivered) / tried) / 10} %`
          }
          detail={`${sumOf(data, 'workflow_webhook_deliveries_pending').toLocaleString()} pending · ${sumOf(data, 'workflow_webhook_dead_letters').toLocaleString()} dead letters`}
          to={samplesPath('workflow_webhook_')}
        />
        {FIGURES.map(([label, metric]) => (
          <Tile
            key={metric}
            label={label}
            value={data === undefined ? undefined : sumOf(data, metric).toLocaleString()}
            error={metrics.error}
            to={samplesPath(metric)}
          />
        ))}
      </div>
      <Card title="Events per second">
        <Chart
          label={`Events appended per second, of all tenants: ${Math.round((rates.at(-1) ?? 0) * 10) / 10} now`}
          x={points.slice(1).map(({ at }) => at)}
          series={[{ name: 'Events per second', values: rates }]}
        />
      </Card>
      <Samples read={metrics} />
    </Page>
  );
};

export default PlatformOverview;
