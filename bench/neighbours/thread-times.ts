import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { PerformanceObserver } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';
import { QUIET } from './names.ts';

/**
 * Imported by the server under test. Measures the processor time that its thread uses from the start of each request
 * of the quiet tenant to the answer, and in each tick. Unlike times on the clock, processor times do not grow when
 * other processes of the machine take the processor. Ticks are reported with and without garbage collections. Each
 * SIGUSR2 writes the times measured since the previous one to the file `BENCH_THREAD_TIMES`.
 */

const spent = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Whether the quiet tenant sent the request; its requests for `/health/live` have no token. */
const isQuiet = ({ headers, url }: IncomingMessage): boolean => {
  if (url === '/health/live') return true;
  const [, payload = ''] = (headers.authorization ?? '').split('.');
  return Buffer.from(payload, 'base64url').toString().includes(`"${QUIET}"`);
};

const exchangeIn = (message: unknown) => {
  if (typeof message !== 'object' || message === null) return undefined;
  if (!('request' in message && 'response' in message)) return undefined;
  const { request, response } = message;
  const isBoth = request instanceof IncomingMessage && response instanceof ServerResponse;
  return isBoth ? { request, response } : undefined;
};

interface Interval {
  readonly from: number;
  readonly to: number;
}

/** Total time (ms) of those intervals that began within the given one. */
const within = ({ from, to }: Interval, intervals: readonly Interval[]): number =>
  intervals.reduce((all, each) => (each.from >= from && each.from < to ? all + each.to - each.from : all), 0);

/** A tick shorter than this (ms) counts as idle. */
const IDLE_MS = 0.5;

const measure = (file: string): void => {
  const begun = new WeakMap<ServerResponse, number>();
  let requests: number[] = [];
  let ticks: (Interval & { readonly ms: number })[] = [];
  subscribe('http.server.request.start', (message) => {
    const found = exchangeIn(message);
    if (found !== undefined && isQuiet(found.request)) begun.set(found.response, spent());
  });
  subscribe('http.server.response.finish', (message) => {
    const found = exchangeIn(message);
    const since = found === undefined ? undefined : begun.get(found.response);
    if (since !== undefined) requests.push(spent() - since);
  });
  let collections: Interval[] = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      collections.push({ from: startTime, to: startTime + duration });
    }
  }).observe({ entryTypes: ['gc'] });
  let [before, from] = [spent(), performance.now()];
  const tick = (): void => {
    const [now, to] = [spent(), performance.now()];
    const ms = now - before;
    if (ms > IDLE_MS) ticks.push({ from, to, ms });
    [before, from] = [now, to];
    // While the loop is idle a timer keeps it from spinning.
    if (ms > IDLE_MS) setImmediate(tick);
    else setTimeout(tick, 1).unref();
  };
  tick();
  process.on('SIGUSR2', () => {
    const found = {
      requests,
      ticks: ticks.map(({ ms }) => ms),
      works: ticks.map((each) => Math.max(0, each.ms - within(each, collections))),
    };
    writeFileSync(`${file}.new`, JSON.stringify(found));
    renameSync(`${file}.new`, file);
    [requests, ticks, collections] = [[], [], []];
  });
};

const { BENCH_THREAD_TIMES: file } = process.env;
if (isMainThread && file !== undefined) measure(file);
