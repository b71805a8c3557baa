import { subscribe } from 'node:diagnostics_channel';
import { renameSync, writeFileSync } from 'node:fs';
import { IncomingMessage, ServerResponse } from 'node:http';
import { isMainThread } from 'node:worker_threads';
import { QUIET } from './names.ts';

/**
 * Imported by the server under test: measures how much processor time its thread uses from the start of each request of the
 * quiet tenant to its answer, and in each tick. Unlike times on the clock, these do not grow when other processes of the
 * machine take the processor. Each SIGUSR2 writes what was measured since the last one to the file `BENCH_THREAD_TIMES`.
 */

const spent = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

/** Whether the request is one of the quiet tenant's fixed load. */
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

/** A tick shorter than this (ms) counts as idle. */
const IDLE_MS = 0.5;

const measure = (file: string): void => {
  const begun = new WeakMap<ServerResponse, number>();
  let requests: number[] = [];
  let ticks: number[] = [];
  subscribe('http.server.request.start', (message) => {
    const found = exchangeIn(message);
    if (found !== undefined && isQuiet(found.request)) begun.set(found.response, spent());
  });
  subscribe('http.server.response.finish', (message) => {
    const found = exchangeIn(message);
    const since = found === undefined ? undefined : begun.get(found.response);
    if (since !== undefined) requests.push(spent() - since);
  });
  let before = spent();
  const tick = (): void => {
    const now = spent();
    const ms = now - before;
    before = now;
    if (ms > IDLE_MS) ticks.push(ms);
    // While the loop is idle a timer keeps it from spinning.
    if (ms > IDLE_MS) setImmediate(tick);
    else setTimeout(tick, 1).unref();
  };
  tick();
  process.on('SIGUSR2', () => {
    writeFileSync(`${file}.new`, JSON.stringify({ requests, ticks }));
    renameSync(`${file}.new`, file);
    [requests, ticks] = [[], []];
  });
};

const { BENCH_THREAD_TIMES: file } = process.env;
if (isMainThread && file !== undefined) measure(file);
