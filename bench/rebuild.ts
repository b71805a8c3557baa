import { join } from 'node:path';
import { createMetrics } from '../api/http/metrics.ts';
import { ProjectionRunner } from '../application/core/projections/projection-runner.ts';
import { tagOf } from '../application/core/projections/takeover.ts';
import { WaitingReaders } from '../application/core/projections/waiting-readers.ts';
import { LogFollower } from '../application/core/subscriptions/log-follower.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { systemClock } from '../infrastructure/identity/ids.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { openSqliteReadStore } from '../infrastructure/read-store/sqlite/store.ts';
import { conversationsProjection } from '../projections/messaging/conversations.ts';
import { inFolder } from './http/platform.ts';
import { fillLog, newCodec } from './logs.ts';
import { rawRebuild } from './raw-rebuild.ts';
import { type Line, perSecond } from './report.ts';
import { alternate, scaled } from './rounds.ts';

const CONVERSATIONS = 500;
const LEAST = 50_000;
const OF_RAW = 0.5;
const ROUNDS = 3;

/** Compares two rebuilds of the conversations from a prepared log: by the product's runner and by a minimal loop. */
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
      runner: async () => count / (await runnerRebuild(log, join(folder, `runner-${++run}.db`))),
    });
    const least = Math.min(LEAST, OF_RAW * rates.raw);
    return [
      {
        figure: 'projection rebuild, events',
        value: perSecond(rates.runner),
        yardstick: { name: 'raw loop, same tables', value: perSecond(rates.raw) },
        target: { text: '≥ 0.5, or 50,000/s', met: rates.runner >= least },
      },
    ];
  });

/** @returns seconds until the generation has reached the end of the log */
const runnerRebuild = async (log: string, path: string): Promise<number> => {
  const events = openSqliteEventStore({ path: log });
  const store = await openSqliteReadStore({ path });
  const logger = createLogger('error');
  const runner = new ProjectionRunner(conversationsProjection, {
    waitingReaders: new WaitingReaders(),
    store,
    events,
    follower: new LogFollower({ events, logger }),
    codec: newCodec().codec,
    logger,
    metrics: createMetrics({ process: false }),
    clock: systemClock,
    owner: 'bench',
    ttlMs: 60_000,
    lingerMs: 10,
  });
  const end = await events.end();
  const tag = tagOf(conversationsProjection.version);
  const stopping = new AbortController();
  const began = performance.now();
  const running = runner.run(stopping.signal);
  for (;;) {
    const reached = runner.localCheckpoint(tag);
    if (end === undefined || (reached !== undefined && reached >= end)) break;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const seconds = (performance.now() - began) / 1000;
  stopping.abort();
  await running;
  await store.close();
  await events.close();
  return seconds;
};
