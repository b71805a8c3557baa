import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, talk, type World } from '../../support/world.ts';
import { follow, post, RESUME } from './support.ts';

const FROZEN_MS = 12_000;
/** With answers this slow, a node's cached states are at times older than the 5 s for which it trusts them. */
const SLOW_READ_MS = 3000;
/** An envelope that is not sent within this time waits for a read of the store. */
const WAITS_MS = 300;

describe('A server whose EventStoreDB is frozen for 12 s while frames wait for it', () => {
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

  it('closes the sockets with 1012, and clients that resume by position get every envelope once', async () => {
    const tenant = await world.tenant();
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    const client = await follow(world, ben);
    const heard = () => new Set(client.all().map(({ message }) => message.id));
    const acknowledged: string[] = [];
    const isHeard = () => acknowledged.every((id) => heard().has(id));
    let isOver = false;
    const load = post(ada, room, 'long', () => isOver, acknowledged);
    await eventually('messages', () => acknowledged.length > 5 && isHeard(), 20_000);
    await store.setPace({ readMs: SLOW_READ_MS });
    await eventually(
      'a frame that waits for a read',
      async () => {
        const last = acknowledged.at(-1);
        await setTimeout(WAITS_MS);
        return last !== undefined && !heard().has(last);
      },
      60_000,
    );
    store.freeze();
    await setTimeout(FROZEN_MS);
    expect(client.codes).to.deep.equal([RESUME]);
    store.thaw();
    await store.setPace({ readMs: 0 });
    const count = acknowledged.length;
    await eventually('messages again', () => acknowledged.length > count + 5, 20_000);
    isOver = true;
    await load;
    await eventually('all messages', isHeard, 20_000);
    const frames = await client.finish();
    const positions = frames.map(({ position }) => position);
    expect(positions, 'order').to.deep.equal(positions.toSorted());
    expect(frames.map(({ message }) => message.id)).to.deep.equal([...new Set(acknowledged)]);
    for (const code of client.codes) expect(code).to.equal(RESUME);
  }).timeout(150_000);
});
