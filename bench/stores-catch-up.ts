import { mkdir } from 'node:fs/promises';
import type { Position, StoredEvent } from '../application/ports/event-store.ts';
import { openEventStoreDb } from '../infrastructure/event-store/eventstoredb/store.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { createLogger } from '../infrastructure/logger.ts';
import type { BareEventStore } from './bare-eventstore.ts';
import { type Line, milliseconds } from './report.ts';
import { inDatabase, type ProcessVariables, type Stores, withProcesses } from './stores-processes.ts';

const EVENTS = 500_000;
const PAGE = 1000;

export interface OnServers {
  readonly bare: BareEventStore;
  readonly own: Stores;
  readonly folder: string;
  readonly scale: number;
}

/**
 * The time until a worker without read models is ready, on the servers and on a copy of the log in SQLite. The time
 * on SQLite is the allowance for the start and the folds.
 */
export const catchUp = async ({ bare, own, folder, scale }: OnServers): Promise<Line> => {
  await bare.fill(Math.round(EVENTS * scale));
  const { seconds: read, events } = await bare.readAll();
  const worker = { KEYSTORE_URL: own.MONGODB_URL, ROLE: 'worker' };
  const served = await inDatabase(own, (fresh) =>
    secondsToStart({ ...fresh, ...worker, DATA_DIR: `${folder}/fresh` }),
  );
  await copyLog(own.EVENTSTORE_URL, `${folder}/embedded`);
  const embedded = await secondsToStart({ ...worker, DATA_DIR: `${folder}/embedded` });
  const bound = 2 * read + embedded;
  return {
    figure: `${events.toLocaleString('en')} events caught up by a fresh worker, folds included`,
    value: milliseconds(served * 1000),
    yardstick: { name: 'two bare reads and the same on SQLite', value: milliseconds(bound * 1000) },
    target: { text: '≤ 1', met: served <= bound },
  };
};

const secondsToStart = async (variables: ProcessVariables): Promise<number> => {
  const began = performance.now();
  return withProcesses([variables], async () => (performance.now() - began) / 1000);
};

/** Copies all events in order into the embedded log of a data folder. */
const copyLog = async (url: string, dataDir: string): Promise<void> => {
  await mkdir(dataDir, { recursive: true });
  const source = openEventStoreDb({ url });
  const target = await openSqliteEventStore({ path: `${dataDir}/events.db`, logger: createLogger('warn') });
  let from: Position | undefined;
  for (;;) {
    const { events, next, position } = await source.scanAll({ from, limit: PAGE }, PAGE);
    for (const run of runsOf(events)) await target.append(run[0]?.stream ?? '', 'any', run);
    if (next === undefined) break;
    from = position;
  }
  await source.close();
  await target.close();
};

/** Consecutive events of one stream. */
const runsOf = (events: readonly StoredEvent[]): StoredEvent[][] => {
  const runs: StoredEvent[][] = [];
  for (const event of events) {
    const last = runs.at(-1);
    if (last?.[0]?.stream === event.stream) last.push(event);
    else runs.push([event]);
  }
  return runs;
};
