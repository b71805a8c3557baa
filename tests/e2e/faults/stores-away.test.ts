import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import type { Answer } from '../../support/client.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { type OwnMongo, startOwnMongo } from '../../support/mongodb-server.ts';
import { eventually } from '../../support/server.ts';
import { BASE, endWorld, type Member, say, startWorld, talk, type World } from '../../support/world.ts';

/** Time without the store's server: longer than a node trusts its cached states (5 s). */
const AWAY_MS = 7000;

interface Away {
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/**
 * @param refused the calls that fail at once without the store. With an embedded log, writes continue until the
 * process has used up its prepared keys
 */
const goesAndComesBack = (
  start: () => { readonly world: World; readonly store: Away },
  refused: 'writes' | 'reads',
): void => {
  let ada: Member;
  let id: string;
  let tries = 0;
  const acknowledged: string[] = [];
  const write = async (what: string) => {
    tries += 1;
    const body = `${what} ${tries}.`;
    const answer = await ada.api.post(`${BASE}/${id}/messages`, { body });
    if (answer.status === 201) acknowledged.push(body);
    return answer;
  };
  /** All texts, undefined while they cannot be read. */
  const bodies = async (): Promise<string[] | undefined> => {
    const found: string[] = [];
    for (let path: string | undefined = `${BASE}/${id}/messages?limit=200`; path !== undefined; ) {
      const answer: Answer = await ada.api.get(path);
      seen = `${answer.status} with ${found.length} before, ${answer.text.slice(0, 300)}`;
      if (answer.status !== 200) return undefined;
      found.push(
        ...z
          .array(z.looseObject({ body: z.string() }))
          .parse(answer.json)
          .map(({ body }) => body),
      );
      path = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
    }
    return found;
  };
  let seen = '';
  const statusOf = async (): Promise<number> => {
    const { status, text } = await start().world.anybody.get('/health/ready');
    seen = `${status} ${text}`;
    return status;
  };
  const comesToStatus = (wanted: number) =>
    eventually(
      () => `the status, last ${seen}`,
      async () => (await statusOf()) === wanted,
      60_000,
    );

  it('answers 503 with Retry-After while the store is unavailable, and reports it at /health/ready', async () => {
    const { world, store } = start();
    await world.ready();
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    id = await talk(ada, await tenant.person('Ben'));
    await say(ada, id, 'before');
    await store.kill();
    const gone = performance.now();
    const answered = await eventually(
      `${refused} are refused`,
      async () => {
        const written = await write('while it is away');
        const answer = refused === 'writes' ? written : await ada.api.get(`${BASE}/${id}/messages`);
        return answer.status === 503 && answer;
      },
      90_000,
    );
    expect(Number(answered.header('retry-after'))).to.be.at.least(1);
    await comesToStatus(503);
    expect((await world.anybody.get('/health/live')).status).to.equal(200);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, AWAY_MS - (performance.now() - gone))));
  });

  it('serves again without a restart, and has everything that it acknowledged', async () => {
    const { world, store } = start();
    const { pid } = world.server;
    await store.restart();
    await eventually('a write', async () => (await write('after')).status === 201, 90_000);
    await comesToStatus(200);
    const found = await eventually(
      () => `the read, last ${seen}`,
      async () => {
        const all = await bodies();
        return all?.includes(acknowledged.at(-1) ?? '') && all;
      },
      60_000,
    );
    expect(found).to.include.members(['before', ...acknowledged]);
    expect(world.server.pid).to.equal(pid);
  }).timeout(400_000);
};

describe('A server whose EventStoreDB dies and comes back', () => {
  let folder: string;
  let store: TestEventStoreDb;
  let world: World;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'eventstoredb-'));
    store = await startEventStoreDb({ path: join(folder, 'log') });
    world = await startWorld({ eventStore: store });
  });
  after(async () => {
    await endWorld();
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  });

  goesAndComesBack(() => ({ world, store }), 'writes');
});

describe('A server whose MongoDB dies and comes back', () => {
  let store: OwnMongo;
  let world: World;

  before(async function () {
    const made = await startOwnMongo();
    if ('unavailable' in made) {
      console.log(`      ${made.unavailable}: the test is skipped`);
      return void this.skip();
    }
    store = made;
    world = await startWorld({ env: { MONGODB_URL: `${store.url}/away` } });
  });
  after(async () => {
    await endWorld();
    await store?.stop();
  });

  goesAndComesBack(() => ({ world, store }), 'reads');
});
