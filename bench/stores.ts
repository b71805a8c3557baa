import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { openEventStoreDb } from '../infrastructure/event-store/eventstoredb/store.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../tests/support/eventstoredb/start.ts';
import { type BareEventStore, bareEventStore } from './bare-eventstore.ts';
import { PER_SECOND, steady } from './fan-out.ts';
import { type Child, startChild } from './http/child.ts';
import { Connection, closedLoop, requestBytes } from './http/load.ts';
import {
  BODY,
  inFolder,
  makePairs,
  messageRequests,
  messagesPath,
  type Pair,
  platformEnvironment,
  startPlatformChild,
} from './http/platform.ts';
import { count, type Line, milliseconds, perSecond } from './report.ts';
import { percentile, scaled } from './rounds.ts';

const CONNECTIONS = 64;
const OF_BARE = 0.35;
const P99_OF_BARE = 5;
const BEHIND_MS = 250;
const BACK_MS = 1000;
const TENANT_OF_BARE = 2;
const TENANT_EVENTS = 100;

/**
 * Measures the product on EventStoreDB: messages on the wire, over the test server; and speed on the servers at
 * `EVENTSTORE_URL` and `MONGODB_URL`, beside the plain client. Use dedicated servers: the events remain there.
 */
export const benchStores = async (scale: number): Promise<Line[]> => {
  const { EVENTSTORE_URL: events, MONGODB_URL: mongo } = process.env;
  const counted = await onTheWire(scale);
  if (events === undefined || mongo === undefined) return counted;
  return [...counted, ...(await onServers(scale, { EVENTSTORE_URL: events, MONGODB_URL: mongo }))];
};

/** Counts messages, which do not depend on the machine. */
const onTheWire = (scale: number): Promise<Line[]> =>
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
    const pairs = await makePairs(platform.port, CONNECTIONS / 2);
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

/** A start over the same log, with read models to be built from all of it. */
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

type Stores = Readonly<Record<'EVENTSTORE_URL' | 'MONGODB_URL', string>>;

const onServers = (scale: number, stores: Stores): Promise<Line[]> =>
  inFolder(async (folder) => {
    const bare = bareEventStore(stores.EVENTSTORE_URL);
    const platform = await startPlatformChild(`${folder}/platform`, stores);
    const tenantId = `bench_${randomUUID().slice(0, 8)}`;
    try {
      const pairs = await makePairs(platform.port, CONNECTIONS / 2, tenantId);
      const lines = [
        ...(await posts(platform, bare, pairs, scale)),
        await latency(platform, bare, pairs, scale),
        await ofTenant(bare, stores, tenantId),
      ];
      // Stops the other process, so that it does not slow this one.
      await platform.stop();
      return [...lines, await catchUp(bare, stores, folder)];
    } finally {
      await platform.stop();
      await bare.close();
    }
  });

const posts = async (
  { port }: Child,
  bare: BareEventStore,
  pairs: readonly Pair[],
  scale: number,
): Promise<Line[]> => {
  const seconds = Math.max(1, 8 * scale);
  const requests = messageRequests(pairs);
  await closedLoop({ port, requests, seconds: Math.max(1, 3 * scale), expectedStatus: 201 });
  const yardstick = await bare.appends(CONNECTIONS, seconds);
  const [first] = pairs;
  if (first === undefined) throw new Error('no conversations');
  const sampling = await readSampler(port, first);
  const rate = await closedLoop({ port, requests, seconds, expectedStatus: 201 });
  const { behind, back } = await sampling.end();
  return [
    {
      figure: 'POST message on EventStoreDB and MongoDB, 64 connections',
      value: perSecond(rate),
      yardstick: { name: 'bare client, 64 writers', value: perSecond(yardstick) },
      target: { text: `≥ ${OF_BARE}`, met: rate / yardstick >= OF_BARE },
    },
    {
      figure: 'a read after its write under that load, at most',
      value: milliseconds(behind),
      target: { text: `≤ ${BEHIND_MS} ms`, met: behind <= BEHIND_MS },
    },
    {
      figure: 'write and read right after that load',
      value: milliseconds(back),
      target: { text: `≤ ${BACK_MS} ms`, met: back <= BACK_MS },
    },
  ];
};

const SAMPLE_MS = 100;
const SILENCE_MS = 60_000;

/** Milliseconds of a read that includes the caller's last write: it waits until the read models have folded it. */
const readAfterWrite = async (connection: Connection, { id, tokens }: Pair): Promise<number> => {
  const [token] = tokens;
  const post = requestBytes('POST', messagesPath(id), { token, body: BODY });
  const { status } = await connection.request(post);
  if (status !== 201) throw new Error(`a POST was answered ${status}`);
  const began = performance.now();
  // 503: the read models lag by more than a read waits.
  while ((await connection.request(requestBytes('GET', messagesPath(id), { token }))).status !== 200) {
    await pause(10);
  }
  return performance.now() - began;
};

/** Samples reads during load, and once after it. */
const readSampler = async (port: number, pair: Pair) => {
  const connection = await Connection.open(port, SILENCE_MS);
  let behind = 0;
  let isOver = false;
  const sampled = (async () => {
    while (!isOver) {
      behind = Math.max(behind, await readAfterWrite(connection, pair));
      await pause(SAMPLE_MS);
    }
  })();
  const end = async (): Promise<{ readonly behind: number; readonly back: number }> => {
    isOver = true;
    const began = performance.now();
    await sampled;
    await readAfterWrite(connection, pair);
    connection.close();
    return { behind, back: performance.now() - began };
  };
  return { end };
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const latency = async (
  { port }: Child,
  bare: BareEventStore,
  pairs: readonly Pair[],
  scale: number,
): Promise<Line> => {
  const sent = scaled(2000, scale, 100);
  await steady(port, pairs, Math.min(400, sent));
  const yardstick = await bare.p99(PER_SECOND, sent);
  const p99 = percentile((await steady(port, pairs, sent)).posts, 0.99);
  return {
    figure: `POST message at ${PER_SECOND}/s, p99`,
    value: milliseconds(p99),
    yardstick: { name: 'bare append, p99', value: milliseconds(yardstick) },
    target: { text: `≤ ${P99_OF_BARE}`, met: p99 / yardstick <= P99_OF_BARE },
  };
};

/** Reads the first events of one tenant from a log of many, by the adapter. */
const ofTenant = async (bare: BareEventStore, stores: Stores, tenantId: string): Promise<Line> => {
  const streamPrefix = `${tenantId}.`;
  const events = openEventStoreDb({ url: stores.EVENTSTORE_URL });
  const began = performance.now();
  const found = await events.readAll({ filter: { streamPrefix }, limit: TENANT_EVENTS });
  const seconds = (performance.now() - began) / 1000;
  await events.close();
  const yardstick = await bare.filtered(streamPrefix, found.length);
  return {
    figure: `${found.length} events of one tenant`,
    value: milliseconds(seconds * 1000),
    yardstick: { name: 'bare filtered subscription', value: milliseconds(yardstick * 1000) },
    target: { text: `≤ ${TENANT_OF_BARE}`, met: seconds / yardstick <= TENANT_OF_BARE },
  };
};

/** A worker with empty read models folds the whole log. Its time includes the folds, so the line is informative. */
const catchUp = async (bare: BareEventStore, stores: Stores, folder: string): Promise<Line> => {
  const { seconds: yardstick, events } = await bare.readAll();
  const fresh = {
    ...stores,
    MONGODB_URL: freshDatabase(stores.MONGODB_URL),
    KEYSTORE_URL: stores.MONGODB_URL,
  };
  const began = performance.now();
  const environment = { ...platformEnvironment(`${folder}/worker`), ...fresh, ROLE: 'worker' };
  const worker = await startChild('../api/main.ts', '/health/live', environment);
  try {
    const url = `http://127.0.0.1:${worker.port}/health/ready`;
    while ((await fetch(url)).status !== 200) await pause(50);
    const seconds = (performance.now() - began) / 1000;
    return {
      figure: `${events.toLocaleString('en')} events caught up by a fresh worker, folds included`,
      value: milliseconds(seconds * 1000),
      yardstick: { name: 'bare read of all', value: milliseconds(yardstick * 1000) },
    };
  } finally {
    await worker.stop();
    const client = new MongoClient(fresh.MONGODB_URL);
    await client.db().dropDatabase();
    await client.close();
  }
};

/** The same server with a new database. */
const freshDatabase = (url: string): string => {
  const [, server = '', options = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(url) ?? [];
  return `${server}/bench_${randomUUID().slice(0, 8)}${options}`;
};
