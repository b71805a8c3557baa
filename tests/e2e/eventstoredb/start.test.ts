import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { openEventStoreDbImport } from '../../../infrastructure/event-store/eventstoredb/import.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { atPresentPace } from '../../support/pace.ts';
import { eventually, newDataFolder, type Server, startAndExit, startServer } from '../../support/server.ts';
import { endWorld, type Member, say, startWorld, talk, type World } from '../../support/world.ts';
import { postAll } from './support.ts';

const health = z.looseObject({ status: z.string() });

const healthOf = async (server: Server) => {
  const answer = await fetch(`${server.base}/health/ready`);
  return { code: answer.status, status: health.parse(await answer.json()).status };
};

/** Whether a load balancer would send requests to the server; true also while it catches up under load. */
const serves = async (server: Server): Promise<boolean> => (await healthOf(server)).code === 200;

const isReady = async (server: Server): Promise<boolean> => (await healthOf(server)).status === 'ready';

/** How long (ms) the main thread of a process has waited for a processor; 0 where the system does not report it. */
const queuedMs = (pid: number): number => {
  const path = `/proc/${pid}/schedstat`;
  const [, queuedNs = 0] = existsSync(path) ? readFileSync(path, 'utf8').split(' ').map(Number) : [];
  return queuedNs / 1e6;
};

const WAITS = 'the start waits up to a minute';
const waitLines = (server: Server): number => server.output().split(WAITS).length - 1;

describe('A server whose EventStoreDB is unavailable or slow', () => {
  let folder: string;
  let store: TestEventStoreDb;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'eventstoredb-'));
    store = await startEventStoreDb({ path: join(folder, 'log') });
  });
  afterEach(async () => {
    await endWorld();
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('waits for it at the start, logs that once, and is then ready', async () => {
    await store.kill();
    const starting = startServer({ eventStore: store });
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await store.restart({ readyAfterMs: 3000 });
    const server = await starting;
    await eventually('ready', () => isReady(server), 15_000);
    expect(waitLines(server)).to.equal(1);
  }).timeout(60_000);

  it('starts even if the first append takes longer than its timeout', async () => {
    // The timeout is five seconds; a busy server notices it late.
    await store.setPace({ commitMs: 9000 });
    const starting = startServer({ eventStore: store });
    await eventually('an append', async () => (await store.counts()).appends > 0, 20_000);
    await new Promise((resolve) => setTimeout(resolve, 5500));
    await store.setPace({ commitMs: 1 });
    const server = await starting;
    await eventually('ready', () => isReady(server), 15_000);
    expect(waitLines(server)).to.equal(1);
  }).timeout(60_000);

  it('refuses a log whose import is not complete, without waiting for it', async () => {
    const target = openEventStoreDbImport(store.url);
    await target.begin({ id: 'an-export', events: 5, end: undefined }, async () => undefined);
    await target.close();
    const { code, output } = await startAndExit({ EVENTSTORE_URL: store.url });
    expect(code).to.equal(1);
    expect(output).to.contain('run import-stores again');
    expect(output).not.to.contain(WAITS);
  }).timeout(60_000);

  it('reports catching_up while the store is slow, and keeps serving', async () => {
    const world = await startWorld({ eventStore: store });
    await world.ready();
    const tenant = await world.tenant();
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    await store.setPace({ readMs: 3500 });
    const behind = await eventually(
      'catching_up',
      async () => {
        const found = await healthOf(world.server);
        return found.status === 'catching_up' ? found : undefined;
      },
      30_000,
    );
    expect(behind.code).to.equal(200);
    await store.setPace({ commitMs: 300, readMs: 600 });
    await say(ada, room, 'slow, and stored');
    await store.setPace({ commitMs: 1, readMs: 0 });
    await eventually('ready', () => isReady(world.server), 15_000);
  }).timeout(90_000);
});

describe('A worker over EventStoreDB', () => {
  let store: TestEventStoreDb;
  let world: World;
  let ada: Member;
  const rooms: string[] = [];

  before(async () => {
    store = await startEventStoreDb();
    world = await startWorld({ eventStore: store, dataDir: await newDataFolder(), env: { ROLE: 'api' } });
  });
  after(async () => {
    await endWorld();
    await store.stop();
  });

  it('that replaces a worker killed under load passes health checks within 5 s', async () => {
    const { dataDir } = world.server;
    const startWorker = () => startServer({ eventStore: store, dataDir, env: { ROLE: 'worker' } });
    const worker = await startWorker();
    await eventually('the worker', () => serves(worker), 30_000);
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    for (let nth = 0; nth < 8; nth += 1) rooms.push(await talk(ada, await tenant.person(`P${nth}`)));
    let isOver = false;
    // At most 200 messages a second.
    const load = postAll(ada, rooms, { writers: 8, each: 150, pauseMs: 40, isOver: () => isOver });
    await eventually('load', async () => (await store.counts()).appended > 200, 20_000);
    await worker.kill();
    const began = performance.now();
    const next = await startWorker();
    await eventually('the worker again', () => serves(next), 60_000);
    const tookMs = performance.now() - began;
    const withoutProcessorMs = queuedMs(next.pid);
    isOver = true;
    await load;
    expect(tookMs - withoutProcessorMs, 'ms until ready').to.be.at.most(await atPresentPace(5000));
  }).timeout(90_000);
});
