import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { z } from 'zod';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { eventually } from '../../support/server.ts';
import { listen } from '../../support/socket.ts';
import {
  endWorld,
  type Member,
  say,
  startWorld,
  type TestTenant,
  talk,
  USERS,
  type World,
} from '../../support/world.ts';
import { follow, post, RESUME } from './support.ts';

const FORBIDDEN = 4403;
const FROZEN_MS = 7000;
/** Duration of a read of the slow store. */
const READ_MS = 2500;

describe('A server whose EventStoreDB is frozen for 7 s under load', () => {
  let store: TestEventStoreDb;
  let world: World;

  before(async () => {
    store = await startEventStoreDb();
    world = await startWorld({ eventStore: store });
  });
  after(async () => {
    await endWorld();
    await store.stop();
  });

  const withRoom = async () => {
    const tenant = await world.tenant();
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    return { tenant, ada, ben, room: await talk(ada, ben) };
  };

  it('delivers every message once and in order, or makes clients resume by position', async () => {
    const places = [await withRoom(), await withRoom()];
    const clients = await Promise.all(places.map(({ ben }) => follow(world, ben)));
    let isOver = false;
    const load = places.map(({ ada, room }, nth) =>
      Promise.all([0, 1, 2, 3].map((w) => post(ada, room, `${nth}-${w}`, () => isOver))),
    );
    await eventually('load', async () => (await store.counts()).appended > 300, 20_000);
    const before = problems(world).length;
    store.freeze();
    await setTimeout(FROZEN_MS);
    store.thaw();
    await setTimeout(1500);
    isOver = true;
    const acknowledged = (await Promise.all(load)).map((each) => each.flat());
    for (const [nth, client] of clients.entries()) {
      const wanted = acknowledged[nth] ?? [];
      await eventually(
        'all messages',
        () => {
          const seen = new Set(client.all().map(({ message }) => message.id));
          return wanted.every((id) => seen.has(id));
        },
        20_000,
      );
      const frames = await client.finish();
      const positions = frames.map(({ position }) => position);
      expect(positions, 'order').to.deep.equal(positions.toSorted());
      expect(new Set(frames.map(({ message }) => message.id)).size, 'each once').to.equal(frames.length);
      for (const code of client.codes) expect(code).to.equal(RESUME);
    }
    // Leaves out the lines of requests, since each request that was answered 503 has one.
    const lines = problems(world)
      .slice(before)
      .filter((line) => !line.includes('"route"'));
    expect(lines.length, lines.join('\n')).to.be.at.most(10);
  }).timeout(90_000);

  const revocations = {
    'a deactivated user': async ({ admin }: TestTenant, who: Member) => {
      (await admin.api.patch(`${USERS}/${who.id}`, { status: 'deactivated' })).as(z.unknown());
    },
    'a suspended tenant': async ({ id }: TestTenant) => {
      (await world.platform.patch(`/super/tenants/${id}`, { status: 'suspended' })).as(z.unknown());
    },
  };
  for (const [whose, revoke] of Object.entries(revocations)) {
    it(`closes sockets of ${whose} at once while frames wait for a slow store`, async () => {
      const { tenant, ada, ben, room } = await withRoom();
      const socket = await listen(world.server, ben.token);
      await say(ada, room, 'before');
      await socket.messages(1);
      await store.setPace({ readMs: READ_MS });
      // The node reads the log's end every second: after this pause, such a slow read has begun.
      await setTimeout(1000);
      const sending = Promise.all([1, 2, 3].map((n) => say(ada, room, `waits ${n}`).catch(() => undefined)));
      await revoke(tenant, ben);
      const answered = performance.now();
      const { code } = await socket.closed;
      const tookMs = performance.now() - answered;
      await store.setPace({ readMs: 0 });
      await sending;
      expect(code).to.equal(FORBIDDEN);
      expect(tookMs, 'ms from the answer to the close').to.be.below(READ_MS);
    }).timeout(60_000);
  }
});

/** Lines of the log with the level `warn` or higher. */
const problems = (world: World): string[] =>
  world.server
    .output()
    .split('\n')
    .filter((line) => /"level":"(warn|error|fatal)"/.test(line));
