import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Child } from './http/child.ts';
import { Connection, requestBytes } from './http/load.ts';
import { ADMIN, inFolder, startPlatformChild } from './http/platform.ts';
import { type Attack, attacks, Loud, prepareLoud } from './neighbours/attacks.ts';
import { type Experience, prepareQuiet } from './neighbours/quiet.ts';
import { type Line, mebibytes, milliseconds } from './report.ts';
import { percentile, scaled, until } from './rounds.ts';

const MORE_P99_MS = 50;
const MORE_WORK_MS = 1000;
const MOST_MIB = 1024;
const TICK_MS = 20;
const SECONDS = 10;
/** Allows webhooks to this machine. */
const OPEN = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: '1' };
/** The default limits (docs/configuration.md), which the other figures switch off. */
const LIMITS = { RATE_LIMIT_PER_MINUTE: '600', LOGIN_LIMIT_PER_MINUTE: '10' };

/**
 * Compares the latencies of a quiet tenant during attacks of another tenant with its latencies without an attack. Its
 * load is fixed. Each attack (`neighbours/attacks.ts`) runs alone, then all together, each time with a new folder and
 * server.
 */
export const benchNeighbours = async (scale: number): Promise<Line[]> => {
  const seconds = scaled(SECONDS, scale, 3);
  const chosen = process.env.BENCH_ATTACK;
  const lines: Line[] = [];
  for (const attack of attacks) {
    if (chosen !== undefined && !attack.name.includes(chosen)) continue;
    lines.push(...(await inFolder((folder) => measure(folder, [attack], attack.name, seconds))));
  }
  if (chosen === undefined || chosen === 'all') {
    lines.push(...(await inFolder((folder) => measure(folder, attacks, 'all', seconds * 2))));
  }
  return lines;
};

const measure = async (
  folder: string,
  under: readonly Attack[],
  name: string,
  seconds: number,
): Promise<Line[]> => {
  const open = await startPlatformChild(folder, OPEN);
  try {
    const root = await rootToken(open);
    await prepareQuiet(open.port, root);
    const loud = new Loud(open.port);
    await prepareLoud(loud, root);
    for (const { prepare } of under) await prepare?.(loud);
    await loud.api.close();
  } finally {
    await open.stop();
  }
  const timesFile = join(folder, 'thread-times.json');
  const own = { ...OPEN, ...LIMITS, BENCH_THREAD_TIMES: timesFile };
  const platform = await startPlatformChild(folder, own, ['--import', script('thread-times.ts')]);
  let attacker: ChildProcess | undefined;
  try {
    await experience(platform, 2);
    await threadTimes(platform, timesFile);
    const idle = await experience(platform, seconds);
    const idleTimes = await threadTimes(platform, timesFile);
    attacker = spawn(process.execPath, [script('attacker-child.ts'), String(platform.port), name], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    // Attackers stand for other machines: their computations must not take processor time from the server.
    if (attacker.pid !== undefined) setPriority(attacker.pid, constants.priority.PRIORITY_LOW);
    const beside = await experience(platform, seconds);
    const times = await threadTimes(platform, timesFile);
    return [...compare(name, idle, beside, platform.peakBytes()), ...compareTimes(idleTimes, times)];
  } finally {
    if (attacker !== undefined && attacker.exitCode === null) {
      const ended = once(attacker, 'exit');
      attacker.kill('SIGTERM');
      await ended;
    }
    await platform.stop();
  }
};

const script = (name: string): string => new URL(`neighbours/${name}`, import.meta.url).pathname;

const run = promisify(execFile);

const spent = z.object({
  requests: z.array(z.number()),
  ticks: z.array(z.number()),
  works: z.array(z.number()),
});
type ThreadTimes = z.output<typeof spent>;

/** Times of the server's main thread since the last call (`neighbours/thread-times.ts`). */
const threadTimes = async ({ pid }: Child, timesFile: string): Promise<ThreadTimes> => {
  await rm(timesFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  const deadline = performance.now() + 30_000;
  for (;;) {
    const found = await readFile(timesFile, 'utf8').then(
      (text) => spent.safeParse(JSON.parse(text)),
      () => undefined,
    );
    if (found?.success) return found.data;
    if (performance.now() > deadline) throw new Error('the server under test noted no times');
    await until(performance.now() + 50);
  }
};

/** Compares processor times of the thread, which do not grow when other processes take the processor. */
const compareTimes = (idle: ThreadTimes, beside: ThreadTimes): Line[] => {
  const [before, now] = [idle, beside].map(({ requests }) => percentile(requests, 0.99));
  const [tick, works] = [beside.ticks, beside.works].map((each) => percentile(each, 0.999));
  return [
    {
      figure: '… processor time of the thread from a request to its answer, p99',
      value: milliseconds(now ?? 0),
      yardstick: { name: 'idle', value: milliseconds(before ?? 0) },
      target: { text: `≤ ${MORE_P99_MS} ms more`, met: (now ?? 0) - (before ?? 0) <= MORE_P99_MS },
    },
    {
      figure: '… processor time of a tick without garbage collections, 99.9 %',
      value: milliseconds(works ?? 0),
      target: { text: `≤ ${TICK_MS} ms`, met: (works ?? 0) <= TICK_MS },
    },
    { figure: '… with them', value: milliseconds(tick ?? 0) },
  ];
};

const times = z.record(z.string(), z.number().nullable());
const experienced = z.object({ requests: times, work: times, refused: z.number() });

/** Runs the quiet tenant in its own process, so that the attacker's work does not affect the measured times. */
const experience = async ({ port }: Child, seconds: number): Promise<Experience> => {
  const args = [script('quiet-child.ts'), String(port), String(seconds)];
  const { stdout } = await run(process.execPath, args, { timeout: 240_000 });
  const { requests, work, refused } = experienced.parse(JSON.parse(stdout));
  // JSON has no infinity.
  const known = (found: z.infer<typeof times>) =>
    Object.fromEntries(Object.entries(found).map(([key, ms]) => [key, ms ?? Number.POSITIVE_INFINITY]));
  return { requests: known(requests), work: known(work), refused };
};

const worst = (found: Readonly<Record<string, number>>): number => Math.max(...Object.values(found));

const compare = (name: string, idle: Experience, beside: Experience, peak: number): Line[] => {
  const more = Math.max(
    ...Object.entries(beside.requests).map(([kind, ms]) => ms - (idle.requests[kind] ?? 0)),
  );
  const moreWork = Math.max(...Object.entries(beside.work).map(([kind, ms]) => ms - (idle.work[kind] ?? 0)));
  const mib = mebibytes(peak);
  process.stderr.write(`\n${name}: ${JSON.stringify({ idle, beside, mib: mib.amount })}\n`);
  return [
    {
      figure: `${name}: p99 of the slowest kind of request`,
      value: milliseconds(worst(beside.requests)),
      yardstick: { name: 'idle', value: milliseconds(worst(idle.requests)) },
      target: {
        text: `≤ ${MORE_P99_MS} ms more, none refused`,
        met: more <= MORE_P99_MS && beside.refused === 0,
      },
    },
    {
      figure: '… notification, webhook, rule, slowest',
      value: milliseconds(worst(beside.work)),
      yardstick: { name: 'idle', value: milliseconds(worst(idle.work)) },
      target: { text: `≤ ${MORE_WORK_MS} ms more`, met: moreWork <= MORE_WORK_MS },
    },
    {
      figure: '… peak memory of the server',
      value: mib,
      target: { text: `≤ ${MOST_MIB} MiB`, met: mib.amount <= MOST_MIB },
    },
  ];
};

const rootToken = async ({ port }: Child): Promise<string> => {
  const connection = await Connection.open(port);
  const login = await connection.ask(requestBytes('POST', '/super/auth/login', { body: ADMIN }));
  connection.close();
  return z.object({ token: z.string() }).parse(JSON.parse(login)).token;
};
