import type { Line } from '../report.ts';
import { benchFlood } from './flood.ts';
import { benchLists } from './lists.ts';
import { benchReadModel } from './read-model.ts';
import { benchReports } from './reports.ts';
import { benchResources } from './resources.ts';

const PARTS: Readonly<Record<string, (scale: number) => Promise<Line[]>>> = {
  'read-model': benchReadModel,
  lists: benchLists,
  reports: benchReports,
  flood: benchFlood,
  resources: benchResources,
};

/** Measures all {@link PARTS}, or those that `BENCH_QUERIES` selects by name: `reports` measures only the reports. */
export const benchQueries = async (scale: number): Promise<Line[]> => {
  const lines: Line[] = [];
  for (const [name, run] of Object.entries(PARTS)) {
    if (name.includes(process.env.BENCH_QUERIES ?? '')) lines.push(...(await run(scale)));
  }
  return lines;
};
