import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Child, startChild } from '../http/child.ts';
import { closedLoop, requestBytes } from '../http/load.ts';
import { inFolder, makePairs, messagesPath, nodeOptions, platformEnvironment } from '../http/platform.ts';
import { count, type Line, mebibytes } from '../report.ts';

const PAIRS = 32;
const IDLE_MS = 8_000;
const IDLE_MIB = 150;
const LOADED_MIB = 400;
const MESSAGE = 'A message of eighty-five characters, which is about as long as people write them here';
const MESSAGE_BYTES = 1_200;

/**
 * Memory of a server started like `npm start`, idle and under messages of 64 connections, and a message's bytes on
 * disk.
 */
export const benchResources = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    // The first start fills the cache of compiled modules, including modules that threads load when the server is
    // idle.
    const first = await start(folder);
    await setTimeout(IDLE_MS);
    await first.stop();
    const before = bytesOn(folder);
    const platform = await start(folder);
    let stopped = false;
    try {
      await setTimeout(IDLE_MS);
      const idle = residentBytes(platform.pid);
      const pairs = await makePairs(platform.port, PAIRS);
      let messages = 0;
      await closedLoop({
        port: platform.port,
        requests: pairs.flatMap(({ id, tokens }) =>
          tokens.map((token) => [requestBytes('POST', messagesPath(id), { token, body: { body: MESSAGE } })]),
        ),
        seconds: Math.max(1, 8 * scale),
        expectedStatus: 201,
        onAnswer: () => {
          messages += 1;
        },
      });
      const peak = platform.peakBytes();
      await platform.stop();
      stopped = true;
      const each = (bytesOn(folder) - before) / messages;
      const MIB = 1024 * 1024;
      return [
        {
          figure: 'memory of an idle server',
          value: mebibytes(idle),
          target: { text: `≤ ${IDLE_MIB} MiB`, met: idle <= IDLE_MIB * MIB },
        },
        {
          figure: `peak memory under messages of ${2 * PAIRS} connections`,
          value: mebibytes(peak),
          target: { text: `≤ ${LOADED_MIB} MiB`, met: peak <= LOADED_MIB * MIB },
        },
        {
          figure: `bytes on disk for a message of ${MESSAGE.length} characters`,
          value: count(each),
          target: { text: `≤ ${MESSAGE_BYTES}`, met: each <= MESSAGE_BYTES },
        },
      ];
    } finally {
      if (!stopped) await platform.stop();
    }
  });

const start = (folder: string): Promise<Child> =>
  startChild('../api/start.js', '/health/ready', platformEnvironment(folder), nodeOptions);

const residentBytes = (pid: number): number => {
  try {
    const kibibytes = /^VmRSS:\s*([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kibibytes) * 1024;
  } catch {
    return Number.NaN;
  }
};

/** Bytes of all files of the stopped server. */
const bytesOn = (folder: string): number =>
  readdirSync(folder)
    .map((file) => statSync(join(folder, file)).size)
    .reduce((all, bytes) => all + bytes, 0);
