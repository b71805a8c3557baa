import { useEffect, useRef } from 'react';
import {
  Card,
  type Column,
  DataTable,
  Empty,
  Filters,
  type Read,
  TextFilter,
  useFilters,
} from '../../kit/index.ts';
import type { Metrics } from './metrics.ts';

interface Row {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

/** Path of the page with the samples of a metric. */
export const samplesPath = (metric: string): string =>
  `/platform/overview?${new URLSearchParams({ metric })}`;

const COLUMNS: readonly Column<Row>[] = [
  { key: 'name', title: 'Metric', min: 260, grow: 2, cell: ({ name }) => <code>{name}</code> },
  { key: 'labels', title: 'Of', min: 220, grow: 2, cell: ({ labels }) => <code>{labels}</code> },
  { key: 'value', title: 'Value', min: 120, align: 'end', cell: ({ value }) => value.toLocaleString() },
];

const rowsOf = (metrics: Metrics, metric: string): readonly Row[] =>
  [...metrics]
    // There are thousands of histogram buckets; they are shown only when searched by name.
    .filter(([name]) => (metric === '' ? !name.endsWith('_bucket') : name.includes(metric)))
    .flatMap(([name, samples]) =>
      samples.map(({ labels, value }) => ({
        name,
        value,
        labels: Object.entries(labels)
          .map(([key, each]) => `${key}="${each}"`)
          .join(' '),
      })),
    );

/**
 * The samples that the server gives to a monitoring system: all except histogram buckets, or those whose metric
 * contains the text in the address.
 */
export const Samples = ({ read }: { read: Read<Metrics> }) => {
  const filters = useFilters(['metric']);
  const metric = filters.of('metric');
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (metric !== '') card.current?.scrollIntoView({ block: 'start' });
  }, [metric]);
  const rows = { ...read, data: read.data === undefined ? undefined : rowsOf(read.data, metric) };
  return (
    <div ref={card}>
      <Card flush title="Metrics behind the figures">
        <div className="card-body">
          <Filters label="Filters of the samples" of={filters}>
            <TextFilter label="Metric" placeholder="workflow_" {...filters.field('metric')} />
          </Filters>
        </div>
        <DataTable
          label="Samples"
          rows={rows}
          columns={COLUMNS}
          rowKey={({ name, labels }) => `${name} ${labels}`}
          empty={<Empty title="The server has no such metric" />}
        />
      </Card>
    </div>
  );
};
