import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { findIn, wrappedKeyOf } from '../../support/files.ts';
import { eventually } from '../../support/server.ts';
import { deletedMessage, liveMessage, type Message, notifications } from '../../support/shapes.ts';
import { listen } from '../../support/socket.ts';
import { allMessages } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  talk,
  token,
  type World,
} from '../../support/world.ts';

/** Decisions, section 11: a deletion destroys the message's key before it is answered. */
describe('After a deletion', () => {
  let world: World;
  let ada: Member;
  let ben: Member;
  let id: string;

  const populate = async (): Promise<void> => {
    const tenant = await world.tenant();
    ada = await tenant.person('Ada');
    ben = await tenant.person('Ben');
    id = await talk(ada, ben);
  };

  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  const marked = (): string => `forgetme ${randomBytes(12).toString('hex')}`;
  const pathOf = (mid: string): string => `${BASE}/${id}/messages/${mid}`;

  it('neither text nor key is in any file, and nothing restores the text', async function () {
    this.timeout(40_000);
    await populate();
    const [text, edited] = [marked(), marked()];
    const { readyAt } = await listen(world.server, ben.token);
    const headers = { 'idempotency-key': 'the-key' };
    const body = { body: `${text} ${token(ben)}` };
    const sent = (await ada.api.post(`${BASE}/${id}/messages`, body, { headers })).as(liveMessage, 201);
    await ada.api.patch(pathOf(sent.id), { body: edited }, { headers: { 'idempotency-key': 'other' } });
    await eventually('the notification', async () => {
      return (await ben.api.get(NOTIFICATIONS)).as(notifications).length === 1;
    });
    const traces = { text, edited, key: wrappedKeyOf(world.server.dataDir, sent.id) };
    expect(await findIn(world.server.dataDir, { key: traces.key })).not.to.deep.equal([]);

    (await ada.api.delete(pathOf(sent.id))).as(deletedMessage);
    expect(await findIn(world.server.dataDir, traces), 'at once').to.deep.equal([]);

    const everything = async (): Promise<string> => {
      const socket = await listen(world.server, ben.token, { after: readyAt });
      const fence = await say(ben, await talk(ben, ada), 'fence');
      await eventually('the fence', () =>
        socket.seen.some((one) => one.kind === 'message' && one.message.id === fence.id),
      );
      socket.close();
      const replayed = await ada.api.post(`${BASE}/${id}/messages`, body, { headers });
      const edit = await ada.api.patch(
        pathOf(sent.id),
        { body: edited },
        { headers: { 'idempotency-key': 'other' } },
      );
      const bell = await ben.api.get(NOTIFICATIONS);
      const list = await allMessages(ben, id);
      return JSON.stringify([socket.seen, replayed.text, edit.text, bell.text, list]);
    };
    expect(await everything()).not.to.contain('forgetme');
    await world.server.stop();
    expect(await findIn(world.server.dataDir, traces), 'after a stop').to.deep.equal([]);
    await world.restart();
    await world.ready();
    for (const name of ['conversations', 'notifications'])
      await world.platform.post(`/super/projections/${name}/rebuild`);
    expect(await everything()).not.to.contain('forgetme');
    expect(await findIn(world.server.dataDir, traces), 'after a rebuild').to.deep.equal([]);
  });

  describe('with a kill of the process', () => {
    let sent: readonly Message[];
    /** Wrapped keys of the messages by id. */
    let keys: ReadonlyMap<string, Buffer>;
    const answered = new Set<string>();
    /** Keys of answered deletions that files still held when the process had ended. */
    let left: readonly string[];

    const keysOf = (ids: Iterable<string>) =>
      Object.fromEntries([...ids].map((mid) => [mid, keys.get(mid) ?? '']));

    before(async function () {
      this.timeout(60_000);
      await populate();
      sent = await Promise.all(Array.from({ length: 60 }, () => say(ada, id, marked())));
      keys = new Map(sent.map((one) => [one.id, wrappedKeyOf(world.server.dataDir, one.id)]));
      expect(await findIn(world.server.dataDir, keysOf(keys.keys()))).not.to.deep.equal([]);
      await Promise.all(
        sent.map((one) =>
          ada.api.delete(pathOf(one.id)).then(
            () => {
              answered.add(one.id);
              if (answered.size === 5) world.server.signal('SIGKILL');
            },
            () => undefined,
          ),
        ),
      );
      await world.server.exited;
      left = await findIn(world.server.dataDir, keysOf(answered));
      await world.restart();
      await world.ready();
    });

    it('kill -9 leaves no key in any file', () => {
      expect(answered.size).to.be.at.least(5);
      expect(left).to.deep.equal([]);
    });

    it('interrupted by kill -9, a message is whole or deleted for good', async () => {
      const all = await allMessages(ben, id);
      const gone = all.filter((one) => one.deleted_at !== null).map((one) => one.id);
      expect(gone).to.include.members([...answered]);
      for (const one of all) {
        if (one.deleted_at === null) expect('body' in one && one.body.startsWith('forgetme')).to.equal(true);
      }
      await eventually(
        'the end of the keys',
        async () => (await findIn(world.server.dataDir, keysOf(gone))).length === 0,
        15_000,
      );
    });
  });
});
