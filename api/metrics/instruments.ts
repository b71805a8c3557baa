import type { Registry } from 'prom-client';
import Counter from 'prom-client/lib/counter.js';
import Gauge from 'prom-client/lib/gauge.js';
import Histogram from 'prom-client/lib/histogram.js';

/** Prefix of all metric names of the product; names of the runtime's metrics begin with `process_` or `nodejs_`. */
export const PREFIX = 'workflow_';

/** Histogram bounds (s) for requests, appends and batches. */
export const LATENCY = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Histogram bounds (s) for work that waits for other machines. */
export const SLOW = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** How the values of several processes are aggregated. */
type Aggregator = 'sum' | 'max' | 'first';

/** Makes metrics whose names begin with {@link PREFIX}. Labels take few values: never a tenant's or a person's id. */
export const instruments = (registry: Registry) => {
  const registers = [registry];
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]) =>
      new Counter({ name: PREFIX + name, help, labelNames, registers }),
    gauge: <L extends string>(name: string, help: string, aggregator: Aggregator, ...labelNames: L[]) =>
      new Gauge({ name: PREFIX + name, help, labelNames, aggregator, registers }),
    histogram: <L extends string>(name: string, help: string, buckets: number[], ...labelNames: L[]) =>
      new Histogram({ name: PREFIX + name, help, labelNames, buckets, registers }),
  };
};

export type Instruments = ReturnType<typeof instruments>;
