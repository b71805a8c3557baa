import { readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Runner, Suite } from 'mocha';

/** Wall time, CPU time and server starts of each test file of a process, children included (Linux). */

export interface FileTimes {
  readonly file: string;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly servers: number;
}

const started = { servers: 0 };

/** Called at each start of `api/main.ts`. */
export const noteServerStart = (): void => {
  started.servers += 1;
};

/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

/** The sum of fields `from` to `to` of `/proc/<pid>/stat`. The name of the process, field 2, may contain spaces. */
const ticksOf = (pid: number | 'self', from: number, to: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(from - 3, to - 2).reduce((sum, ticks) => sum + Number(ticks), 0);
};

const childrenOf = (pid: number | 'self'): number[] =>
  readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );

/** CPU time of a process, its ended children and its running ones. */
const treeTicks = (pid: number | 'self'): number => {
  try {
    return ticksOf(pid, 14, 17) + childrenOf(pid).reduce((sum, child) => sum + treeTicks(child), 0);
  } catch {
    // A child may end during the measurement.
    return 0;
  }
};

const now = () => ({ wall: performance.now(), cpu: treeTicks('self') * TICK_MS, servers: started.servers });

/** Measures each file of a run. The time of loading all files is listed as `(loading)`. */
export const measureFiles = (runner: Runner): (() => FileTimes[]) => {
  const found = new Map<string, FileTimes>();
  let began = { wall: 0, cpu: 0, servers: 0 };
  const add = (file: string, since: typeof began): void => {
    const at = now();
    const before = found.get(file) ?? { wallMs: 0, cpuMs: 0, servers: 0 };
    found.set(file, {
      file,
      wallMs: before.wallMs + at.wall - since.wall,
      cpuMs: before.cpuMs + at.cpu - since.cpu,
      servers: before.servers + at.servers - since.servers,
    });
  };
  add('(loading)', began);
  const isTop = (suite: Suite): boolean => suite.parent?.root === true;
  runner.on('suite', (suite) => {
    if (isTop(suite)) began = now();
  });
  runner.on('suite end', (suite) => {
    if (isTop(suite)) add(relative(process.cwd(), suite.file ?? ''), began);
  });
  return () => [...found.values()];
};

/** One line per file, the most expensive first, and a total. */
export const tableOf = (times: readonly FileTimes[]): string => {
  const line = ({ file, wallMs, cpuMs, servers }: FileTimes): string =>
    `${(cpuMs / 1000).toFixed(1).padStart(7)} ${(wallMs / 1000).toFixed(1).padStart(7)} ${String(servers).padStart(7)}  ${file}`;
  const sum = (of: (each: FileTimes) => number): number => times.reduce((total, each) => total + of(each), 0);
  const all = {
    file: 'all',
    wallMs: sum(({ wallMs }) => wallMs),
    cpuMs: sum(({ cpuMs }) => cpuMs),
    servers: sum(({ servers }) => servers),
  };
  const sorted = times.toSorted((a, b) => b.cpuMs - a.cpuMs);
  return ['  cpu s  wall s servers  file', ...[...sorted, all].map(line)].join('\n');
};
