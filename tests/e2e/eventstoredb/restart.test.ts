import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { eventually } from '../../support/server.ts';
import { unreadCount } from '../../support/shapes.ts';
import {
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  talk,
  token,
  type World,
} from '../../support/world.ts';
import { countedDuring, postAll } from './support.ts';

const ROOMS = 32;

describe('A server that restarts over EventStoreDB without its read models', () => {
  let store: TestEventStoreDb;
  let world: World;
  let ada: Member;
  let ben: Member;
  const rooms: string[] = [];

  before(async () => {
    store = await startEventStoreDb();
    world = await startWorld({ eventStore: store });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    for (let nth = 0; nth < ROOMS; nth += 1) rooms.push(await talk(ada, ben, await tenant.person(`P${nth}`)));
    await postAll(ada, rooms, { writers: 64, each: 50 });
  }).timeout(90_000);
  after(async () => {
    await endWorld();
    await store.stop();
  });

  it('receives each event of the log about once, including the projections thread', async () => {
    await world.server.stop();
    for (const file of ['', '-wal', '-shm']) {
      await rm(join(world.server.dataDir, `read-models.db${file}`), { force: true });
    }
    const [room = ''] = rooms;
    const { appended } = await store.counts();
    // More events than a process keeps in memory for its followers.
    expect(appended).to.be.greaterThan(3000);
    const counted = await countedDuring(store, async () => {
      await world.restart();
      await world.ready();
      await say(ada, room, `hello ${token(ben)}`);
      // Once a subscriber has notified Ben, the subscribers have received the whole log.
      await eventually(
        'a notification',
        async () => (await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread === 1,
        60_000,
      );
    });
    expect(counted.subscribed + counted.readOfAll).to.be.within(appended, appended * 1.1 + 200);
  }).timeout(120_000);
});
