import { rm } from 'node:fs/promises';
import { startEventStoreDb, type TestEventStoreDb } from '../tests/support/eventstoredb/start.ts';
import { closedLoop } from './http/load.ts';
import { inFolder, makePairs, messageRequests, startPlatformChild } from './http/platform.ts';
import { count, type Line } from './report.ts';

const PAIRS = 32;

/** Counts events, appends and subscriptions between the product and a test server of EventStoreDB. */
export const benchWire = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const server = await startEventStoreDb();
    try {
      return [...(await underLoad(server, folder, scale)), await afterRestart(server, folder)];
    } finally {
      await server.stop();
    }
  });

const underLoad = async (server: TestEventStoreDb, folder: string, scale: number): Promise<Line[]> => {
  const platform = await startPlatformChild(folder, { EVENTSTORE_URL: server.url });
  try {
    const pairs = await makePairs(platform.port, PAIRS);
    const before = await server.counts();
    const seconds = Math.max(1, 3 * scale);
    const requests = messageRequests(pairs);
    await closedLoop({ port: platform.port, requests, seconds, expectedStatus: 201 });
    const after = await server.counts();
    const appended = after.appended - before.appended;
    const received = after.subscribed + after.readOfAll - before.subscribed - before.readOfAll;
    return [
      {
        figure: 'events received by one process (test server)',
        value: count(received),
        yardstick: { name: 'events appended', value: count(appended) },
        target: { text: '≤ 1.1', met: received / appended <= 1.1 },
      },
      {
        figure: 'live subscriptions of one process (test server)',
        value: count(after.openSubscriptions),
        target: { text: '≤ 1', met: after.openSubscriptions <= 1 },
      },
      {
        figure: 'events of one append on the wire (test server)',
        value: count(appended / (after.appends - before.appends)),
      },
      {
        figure: 'appends that leave together (test server)',
        value: count((after.appends - before.appends) / (after.groups - before.groups)),
      },
    ];
  } finally {
    await platform.stop();
  }
};

/** Starts the product over the same log without read models, so that it builds them from the whole log. */
const afterRestart = async (server: TestEventStoreDb, folder: string): Promise<Line> => {
  for (const file of ['', '-wal', '-shm']) await rm(`${folder}/read-models.db${file}`, { force: true });
  const before = await server.counts();
  const platform = await startPlatformChild(folder, { EVENTSTORE_URL: server.url });
  await platform.stop();
  const after = await server.counts();
  const received = after.subscribed + after.readOfAll - before.subscribed - before.readOfAll;
  return {
    figure: 'events received after a restart without read models (test server)',
    value: count(received),
    yardstick: { name: 'events in the log', value: count(before.appended) },
    target: { text: '≤ 1.1', met: received / before.appended <= 1.1 },
  };
};
