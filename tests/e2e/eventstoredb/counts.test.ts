import { expect } from 'chai';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { listen } from '../../support/socket.ts';
import { endWorld, type Member, startWorld, talk, type World } from '../../support/world.ts';
import { countedDuring, postAll } from './support.ts';

const CONVERSATIONS = 4;

describe('Traffic of one process with EventStoreDB', () => {
  let store: TestEventStoreDb;
  let world: World;
  let ada: Member;
  let ben: Member;
  const conversations: string[] = [];

  before(async () => {
    store = await startEventStoreDb();
    world = await startWorld({ eventStore: store });
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    for (let nth = 0; nth < CONVERSATIONS; nth += 1)
      conversations.push(await talk(ada, ben, await tenant.person(`P${nth}`)));
  });
  after(async () => {
    await endWorld();
    await store.stop();
  });

  it('receives each event once over one live subscription, including the projections thread', async () => {
    const socket = await listen(world.server, ben.token);
    const counted = await countedDuring(store, async () => {
      await postAll(ada, conversations, { writers: 64, each: 10 });
      await socket.messages(640, 20_000);
    });
    socket.close();
    const { openSubscriptions } = await store.counts();
    expect(openSubscriptions, 'live subscriptions').to.equal(1);
    expect(counted.appended).to.be.at.least(640);
    const received = counted.subscribed + counted.readOfAll;
    expect(received).to.be.within(counted.appended, counted.appended * 1.05 + 50);
  });

  it('receives each event at most twice when the server keeps dropping the subscription', async () => {
    const socket = await listen(world.server, ben.token);
    const [conversation = ''] = conversations;
    const counted = await countedDuring(store, async () => {
      await postAll(ada, [conversation], { writers: 128, each: 12 });
      await socket.messages(1536, 20_000);
    });
    socket.close();
    expect(counted.drops, 'dropped subscriptions').to.be.greaterThan(0);
    const received = counted.subscribed + counted.readOfAll;
    // After a drop, followers that miss events may read pages of them, in addition to the adapter (decision 30).
    expect(received).to.be.within(counted.appended, counted.appended * 2 + 2 * counted.drops + 50);
  });
});
