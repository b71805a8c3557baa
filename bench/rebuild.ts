import { join } from 'node:path';
import { createMetrics } from '../api/http/metrics.ts';
import { Pressure } from '../application/pressure.ts';
import { ProjectionHost, tagOf } from '../application/projection-host.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { systemClock } from '../infrastructure/identity/ids.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { openSqliteReadStore } from '../infrastructure/read-store/sqlite/store.ts';
import { conversationsProjection } from '../projections/conversations.ts';
import { inFolder } from './http/platform.ts';
import { fillLog, newCodec } from './logs.ts';
import { rawRebuild } from './raw-rebuild.ts';
import { type Line, perSecond } from './report.ts';
import { alternate, scaled } from './rounds.ts';

const CONVERSATIONS = 500;
const LEAST = 50_000;
const OF_RAW = 0.5;
const ROUNDS = 3;

/** Rebuild of the conversations: the real host over a prepared log, beside a loop that does the least possible. */
export const benchRebuild = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const log = join(folder, 'events.db');
    const events = openSqliteEventStore({ path: log });
    const conversations = scaled(CONVERSATIONS, Math.sqrt(scale), 20);
    const count = await fillLog(events, conversations, scaled(100_000, scale, 400) / conversations);
    await events.close();
    let run = 0;
    const rates = await alternate(ROUNDS, {
      raw: () => count / rawRebuild(log, join(folder, `raw-${++run}.db`)),
      host: async () => count / (await hostRebuild(log, join(folder, `host-${++run}.db`))),
    });
    const least = Math.min(LEAST, OF_RAW * rates.raw);
    return [
      {
        figure: 'projection rebuild, events',
        value: perSecond(rates.host),
        yardstick: { name: 'raw loop, same tables', value: perSecond(rates.raw) },
        target: { text: '≥ 0.5, or 50,000/s', met: rates.host >= least },
      },
    ];
  });

/** @returns seconds until the generation has reached the head of the log */
const hostRebuild = async (log: string, path: string): Promise<number> => {
  const events = openSqliteEventStore({ path: log });
  const store = await openSqliteReadStore({ path });
  const host = new ProjectionHost(conversationsProjection, {
    pressure: new Pressure(),
    store,
    events,
    codec: newCodec().codec,
    logger: createLogger('error'),
    metrics: createMetrics({ process: false }),
    clock: systemClock,
    owner: 'bench',
    ttlMs: 60_000,
    lingerMs: 10,
  });
  const head = await events.head();
  const tag = tagOf(conversationsProjection.version);
  const stopping = new AbortController();
  const began = performance.now();
  const running = host.run(stopping.signal);
  for (;;) {
    const reached = host.localCheckpoint(tag);
    if (head === undefined || (reached !== undefined && reached >= head)) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const seconds = (performance.now() - began) / 1000;
  stopping.abort();
  await running;
  await store.close();
  await events.close();
  return seconds;
};
