import { randomUUID } from 'node:crypto';
import { openEventStoreDb } from '../infrastructure/event-store/eventstoredb/store.ts';
import { type BareEventStore, bareEventStore } from './bare-eventstore.ts';
import { PER_SECOND, steady } from './fan-out.ts';
import type { Child } from './http/child.ts';
import { Connection, closedLoop, requestBytes } from './http/load.ts';
import { BODY, inFolder, makePairs, messageRequests, messagesPath, type Pair } from './http/platform.ts';
import { type Line, milliseconds, perSecond } from './report.ts';
import { percentile, scaled } from './rounds.ts';
import { catchUp, type OnServers } from './stores-catch-up.ts';
import { inDatabase, type Stores, withProcesses } from './stores-processes.ts';
import { benchWire } from './stores-wire.ts';

const CONNECTIONS = 64;
const OF_BARE = 0.35;
const P99_OF_BARE = 5;
const BEHIND_MS = 250;
const BACK_MS = 1000;
const TENANT_OF_BARE = 2;
const TENANT_EVENTS = 100;

/**
 * Measures the product on EventStoreDB: counts events on the wire, with the test server. If `EVENTSTORE_URL` and
 * `MONGODB_URL` are set, also compares the speed on these servers with the plain client. Use dedicated servers: the
 * events remain there.
 */
export const benchStores = async (scale: number): Promise<Line[]> => {
  const { EVENTSTORE_URL: events, MONGODB_URL: mongo } = process.env;
  const counted = await benchWire(scale);
  if (events === undefined || mongo === undefined) return counted;
  return [...counted, ...(await onServers(scale, { EVENTSTORE_URL: events, MONGODB_URL: mongo }))];
};

const onServers = (scale: number, stores: Stores): Promise<Line[]> =>
  inFolder((folder) =>
    inDatabase(stores, async (own) => {
      const bare = bareEventStore(stores.EVENTSTORE_URL);
      try {
        const { pairs, rate, lines } = await together({ bare, own, folder, scale });
        const apart = [
          { ...own, ROLE: 'api', DATA_DIR: `${folder}/api` },
          { ...own, ROLE: 'worker', DATA_DIR: `${folder}/worker` },
        ];
        const split = await withProcesses(apart, (api) => apartLine(api, pairs, rate, scale));
        return [...lines, split, await catchUp({ bare, own, folder, scale })];
      } finally {
        await bare.close();
      }
    }),
  );

/** Measures a process that serves requests and runs projections and subscribers. */
const together = ({ bare, own, folder, scale }: OnServers) =>
  withProcesses([{ ...own, DATA_DIR: `${folder}/all` }], async (platform) => {
    const tenantId = `bench_${randomUUID().slice(0, 8)}`;
    const pairs = await makePairs(platform.port, CONNECTIONS / 2, tenantId);
    const { rate, lines } = await posts(platform, bare, pairs, scale);
    const rest = [await latency(platform, bare, pairs, scale), await ofTenant(bare, own, tenantId)];
    return { pairs, rate, lines: [...lines, ...rest] };
  });

/** Measures posts to a process with `ROLE=api`, while projections and subscribers run in a worker process. */
const apartLine = async (
  { port }: Child,
  pairs: readonly Pair[],
  inOne: number,
  scale: number,
): Promise<Line> => {
  const requests = messageRequests(pairs);
  await closedLoop({ port, requests, seconds: Math.max(1, 3 * scale), expectedStatus: 201 });
  const rate = await closedLoop({ port, requests, seconds: Math.max(1, 8 * scale), expectedStatus: 201 });
  return {
    figure: 'POST message, api and worker apart, 64 connections',
    value: perSecond(rate),
    yardstick: { name: 'in one process', value: perSecond(inOne) },
    target: { text: '≥ 1', met: rate >= inOne },
  };
};

const posts = async (
  { port }: Child,
  bare: BareEventStore,
  pairs: readonly Pair[],
  scale: number,
): Promise<{ readonly rate: number; readonly lines: readonly Line[] }> => {
  const seconds = Math.max(1, 8 * scale);
  const requests = messageRequests(pairs);
  await closedLoop({ port, requests, seconds: Math.max(1, 3 * scale), expectedStatus: 201 });
  const yardstick = await bare.appends(CONNECTIONS, seconds);
  const [first] = pairs;
  if (first === undefined) throw new Error('no conversations');
  const sampling = await readSampler(port, first);
  const rate = await closedLoop({ port, requests, seconds, expectedStatus: 201 });
  const { behind, back } = await sampling.end();
  const lines = [
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
  return { rate, lines };
};

const SAMPLE_MS = 100;
const SILENCE_MS = 60_000;

/**
 * Milliseconds of a read that includes the caller's last write: the read waits until the read models have folded that
 * write.
 */
const readAfterWrite = async (connection: Connection, { id, tokens }: Pair): Promise<number> => {
  const [token] = tokens;
  const post = requestBytes('POST', messagesPath(id), { token, body: BODY });
  const { status } = await connection.request(post);
  if (status !== 201) throw new Error(`a POST was answered ${status}`);
  const began = performance.now();
  // The answer is 503 when the read model has not folded the write within the time that a read waits.
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

/** Compares reading the first events of one tenant through the adapter with a bare filtered subscription. */
const ofTenant = async (bare: BareEventStore, stores: Stores, tenantId: string): Promise<Line> => {
  const streamPrefix = `${tenantId}.`;
  const events = openEventStoreDb({ url: stores.EVENTSTORE_URL });
  // Both sides read over an open connection.
  await events.end();
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
