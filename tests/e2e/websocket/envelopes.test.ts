import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { messages, notifications } from '../../support/shapes.ts';
import { type Listening, listen } from '../../support/socket.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  token,
  type World,
} from '../../support/world.ts';

describe('Envelopes', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;
  let id: string;
  const open: Listening[] = [];

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    id = await talk(ada, ben);
  });
  afterEach(() => {
    for (const socket of open.splice(0)) socket.close();
  });
  after(endWorld);

  const connect = async (who: Member): Promise<Listening> => {
    const socket = await listen(world.server, who.token);
    open.push(socket);
    return socket;
  };

  it('of messages go to every socket of every participant, also the sender’s, in the specified shape', async () => {
    const sockets = [await connect(ada), await connect(ada), await connect(ben)];
    const sent = await say(ada, id, 'hello');
    for (const socket of sockets) {
      const [envelope] = await socket.messages(1);
      expect(envelope).to.deep.equal({
        kind: 'message',
        event: 'created',
        position: envelope?.position,
        conversation_id: id,
        message: { id: sent.id, sender_user_id: ada.id, body: 'hello', created_at: sent.created_at },
      });
      expect((envelope?.position ?? '') > socket.readyAt).to.equal(true);
    }
  });

  it('arrive in order, each once, under load', async () => {
    const sockets = [await connect(ada), await connect(ben)];
    const sent = await Promise.all(
      Array.from({ length: 200 }, (_, i) => say(i % 2 ? ada : ben, id, `n ${i}`)),
    );
    const list = (await ada.api.get(`${BASE}/${id}/messages?limit=200`)).as(messages);
    for (const socket of sockets) {
      const got = await socket.messages(200);
      expect(got.map((one) => one.message.id)).to.deep.equal(list.map((one) => one.id));
      const positions = got.map((one) => one.position);
      expect(positions).to.deep.equal([...new Set(positions)].sort());
    }
    expect(list.map((one) => one.id)).to.include.members(sent.map((one) => one.id));
  });

  it('are not sent to people outside the conversation, in this tenant or another', async () => {
    const elsewhere = await world.tenant();
    const outsiders = [await connect(tenant.admin), await connect(elsewhere.admin)];
    await say(ada, id, `for us, not for @[X](user:${elsewhere.admin.id})`);
    // A final envelope to each person shows that nothing came before it.
    const others = [
      [tenant.admin, await talk(tenant.admin, ada)],
      [elsewhere.admin, await talk(elsewhere.admin, await elsewhere.person('Y'))],
    ] as const;
    for (const [i, [who, room]] of others.entries()) {
      const fence = await say(who, room, 'fence');
      await outsiders[i]?.messages(1);
      const after = outsiders[i]?.seen
        .slice(1)
        .map((one) => (one.kind === 'message' ? one.message.id : one.kind));
      expect(after).to.deep.equal([fence.id]);
    }
  });

  it('of notifications are the REST record, for the recipient only', async () => {
    const cy = await tenant.person('Cy');
    const [mine, theirs] = [await connect(ben), await connect(ada)];
    const outside = await connect(cy);
    await say(ada, id, `see ${token(ben)} and ${token(cy)}`);
    for (const [socket, who, snippet] of [
      [mine, ben, 'see @Ben and @Cy'],
      [outside, cy, ''],
    ] as const) {
      const found = await eventually('the notification', () =>
        socket.seen.find((one) => one.kind === 'notification'),
      );
      const [record] = (await who.api.get(`${NOTIFICATIONS}?limit=1`)).as(notifications);
      expect(found.kind === 'notification' && found.notification).to.deep.equal(record);
      expect(record?.snippet).to.equal(snippet);
    }
    await theirs.messages(1);
    expect(theirs.seen.filter((one) => one.kind === 'notification')).to.have.length(0);
    expect(outside.seen.filter((one) => one.kind === 'message')).to.have.length(0);
  });

  it('are not sent for edits, deletions, reads and mark-read', async () => {
    const socket = await connect(ben);
    const sent = await say(ada, id, 'first');
    await ada.api.patch(`${BASE}/${id}/messages/${sent.id}`, { body: 'changed' });
    await ben.api.post(`${BASE}/${id}/read`);
    await ben.api.post(`${NOTIFICATIONS}/mark-read`, { all: true });
    await ada.api.delete(`${BASE}/${id}/messages/${sent.id}`);
    const fence = await say(ada, id, 'fence');
    const got = await socket.messages(2);
    expect(got.map((one) => [one.message.id, one.message.body])).to.deep.equal([
      [sent.id, 'first'],
      [fence.id, 'fence'],
    ]);
    expect(socket.seen).to.have.length(3);
  });

  it('can be read over REST at their position', async () => {
    const socket = await connect(ben);
    for (let i = 0; i < 20; i += 1) {
      const sent = await say(ada, id, `at ${i}`);
      const envelope = (await socket.messages(i + 1))[i];
      const headers = { 'x-min-position': envelope?.position ?? '' };
      const [last] = (await ben.api.get(`${BASE}/${id}/messages?limit=1`, { headers })).as(messages);
      expect(last?.id).to.equal(sent.id);
    }
  });
});
