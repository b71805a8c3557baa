/** A scrape of `GET /metrics`. */

export interface Scrape {
  readonly text: string;
  /** The sum of the series of a name that have these labels; undefined without such a series. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** Names of metrics, with or without a series. */
  readonly names: ReadonlySet<string>;
}

const SERIES = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/;

export const scrapeOf = (text: string): Scrape => {
  const series = text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SERIES.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: `,${labels},`, value: Number(value) }];
  });
  return {
    text,
    value: (name, labels = {}) => {
      const wanted = Object.entries(labels).map(([label, value]) => `,${label}="${value}",`);
      const found = series.filter((one) => one.name === name && wanted.every((w) => one.labels.includes(w)));
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
    names: new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)),
  };
};
