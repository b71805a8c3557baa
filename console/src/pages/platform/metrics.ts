import type { Client } from '../../../../client/src/index.ts';

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Samples by the name of the metric. */
export type Metrics = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads the text format of Prometheus. */
export const parsed = (text: string): Metrics => {
  const found = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value = ''] = LINE.exec(line) ?? [];
    if (name === undefined) continue;
    const pairs = [...labels.matchAll(LABEL)].map(([, key = '', each = '']) => [key, each] as const);
    const samples = found.get(name) ?? [];
    samples.push({ labels: Object.fromEntries(pairs), value: Number(value) });
    found.set(name, samples);
  }
  return found;
};

export const readMetrics = async (client: Client, signal: AbortSignal): Promise<Metrics> => {
  const stream = await client.stream('/metrics', { signal });
  return parsed(await new Response(stream).text());
};

export const sumOf = (
  metrics: Metrics | undefined,
  name: string,
  where: Record<string, string> = {},
): number =>
  (metrics?.get(name) ?? [])
    .filter(({ labels }) => Object.entries(where).every(([key, value]) => labels[key] === value))
    .reduce((sum, { value }) => sum + value, 0);

/** The greatest sample with its labels. */
export const worstOf = (metrics: Metrics | undefined, name: string): Sample | undefined =>
  metrics?.get(name)?.reduce((worst, sample) => (sample.value > worst.value ? sample : worst));

/** Values by a label, the greatest first. */
export const byLabel = (
  metrics: Metrics | undefined,
  name: string,
  label: string,
): ReadonlyMap<string, number> =>
  new Map(
    [...(metrics?.get(name) ?? [])]
      .sort((a, b) => b.value - a.value)
      .map(({ labels, value }) => [labels[label] ?? '', value]),
  );
