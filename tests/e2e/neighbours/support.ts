import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import type { Server } from '../../support/server.ts';

/** Runs attacks by one account while `/health/live` is requested continuously (docs/limits.md). */

const MIB = 1024 * 1024;

const statusOf = (pid: number, field: 'VmHWM' | 'VmRSS'): number => {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(found?.[1]) * 1024) / MIB;
};

/** Resident memory of a process, in MiB. */
export const memoryOf = ({ pid }: Server): number => statusOf(pid, 'VmRSS');

/** Peak resident memory since {@link forgetPeak}, in MiB. */
export const peakOf = ({ pid }: Server): number => statusOf(pid, 'VmHWM');

export const forgetPeak = ({ pid }: Server): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

/** For each code, the ticks above 100 ms of processor time: five times the budget, to allow for busy machines. */
const blocksOf = async ({ base }: Server): Promise<ReadonlyMap<string, number>> => {
  const text = await (await fetch(`${base}/metrics`)).text();
  if (!text.includes('# TYPE workflow_event_loop_block_seconds')) throw new Error('no metric of ticks');
  const count = (suffix: string): [string, number][] =>
    [...text.matchAll(new RegExp(`^workflow_event_loop_block_seconds_${suffix} (\\d+)$`, 'gm'))].map(
      ([, code = '', found]) => [code, Number(found)],
    );
  const short = new Map(count('bucket\\{le="0.1",code="(\\w+)"\\}'));
  return new Map(
    count('count\\{code="(\\w+)"\\}').map(([code, all]) => [code, all - (short.get(code) ?? 0)]),
  );
};

const more = (after: ReadonlyMap<string, number>, before: ReadonlyMap<string, number>): string[] =>
  [...after].filter(([code, count]) => count > (before.get(code) ?? 0)).map(([code]) => code);

export interface Pulse {
  /** Longest time of an answer (ms). */
  readonly longestMs: number;
  readonly medianMs: number;
}

/** Runs an attack. @returns its result, the durations of `/health/live` meanwhile, and the growth of memory */
export const meanwhile = async <T>(
  server: Server,
  attack: () => Promise<T>,
): Promise<{
  readonly result: T;
  readonly pulse: Pulse;
  /** How much the resident memory grew at most. */
  readonly grownMiB: number;
  /** Code that held the event loop for more than 100 ms of processor time. */
  readonly blockedBy: readonly string[];
}> => {
  const worker = new Worker(join(import.meta.dirname, 'pulse.worker.ts'), { workerData: server.base });
  await once(worker, 'message');
  const blocks = await blocksOf(server);
  const before = memoryOf(server);
  forgetPeak(server);
  try {
    const result = await attack();
    worker.postMessage('end');
    const [answer] = await once(worker, 'message');
    const taken = z
      .array(z.number())
      .min(1)
      .parse(answer)
      .sort((a, b) => a - b);
    const pulse = { longestMs: taken.at(-1) ?? 0, medianMs: taken[taken.length >> 1] ?? 0 };
    const grownMiB = peakOf(server) - before;
    return { result, pulse, grownMiB, blockedBy: more(await blocksOf(server), blocks) };
  } finally {
    await worker.terminate();
  }
};

export interface Silent {
  readonly socket: Socket;
  /** Resolves when the server has closed the connection. */
  readonly closed: Promise<void>;
}

/** Sends a request without reading the answer. */
export const readNothing = async (server: Server, request: string): Promise<Silent> => {
  const socket = connect(server.port, '127.0.0.1');
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  await once(socket, 'connect');
  socket.pause();
  socket.write(request);
  return { socket, closed };
};

export const getOf = (path: string, token?: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${token === undefined ? '' : `Authorization: Bearer ${token}\r\n`}\r\n`;
