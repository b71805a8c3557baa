import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { liveMessage, notifications, unreadCount } from '../../support/shapes.ts';
import { allMessages, listed, unreadByDefinition } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  startWorld,
  type TestTenant,
  talk,
  token,
  type World,
} from '../../support/world.ts';

describe('kill -9 under load', () => {
  let world: World;
  let tenant: TestTenant;
  let people: Member[];
  let rooms: string[];

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    people = [];
    for (const name of ['Ada', 'Ben', 'Cy', 'Dee']) people.push(await tenant.person(name));
    const [ada, ben, cy, dee] = people;
    if (!ada || !ben || !cy || !dee) throw new Error('nobody');
    rooms = [await talk(ada, ben, cy, dee), await talk(ada, ben), await talk(cy, dee, ada)];
  });
  after(endWorld);

  interface Sent {
    readonly text: string;
    readonly room: string;
    /** Undefined until the server has acknowledged the message. */
    id: string | undefined;
  }

  /** Writes until the server is killed; records attempted and acknowledged messages. */
  const write = async (who: Member, room: string, label: string, sent: Sent[]): Promise<void> => {
    for (let i = 0; ; i += 1) {
      const text = `${label} ${i} ${i % 10 === 0 ? token(people[1] ?? who) : ''}`.trim();
      const one: Sent = { text, room, id: undefined };
      sent.push(one);
      try {
        const answer = await who.api.post(`${BASE}/${room}/messages`, { body: text });
        one.id = answer.as(liveMessage, 201).id;
        if (i % 7 === 0) await who.api.post(`${BASE}/${room}/read`);
        if (i % 11 === 0) await who.api.delete(`${BASE}/${room}/messages/${one.id}`);
      } catch (error) {
        // Only the connection may fail: a kill does not explain a wrong answer.
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  };

  const members = (room: string): Member[] => {
    const [ada, ben, cy, dee] = people;
    const groups = [
      [ada, ben, cy, dee],
      [ada, ben],
      [cy, dee, ada],
    ];
    return (groups[rooms.indexOf(room)] ?? []).filter((one) => one !== undefined);
  };

  for (const acknowledged of [25, 400]) {
    it(`after ${acknowledged} acknowledged writes neither loses nor doubles an acknowledged write`, async () => {
      const sent: Sent[] = [];
      const writers = rooms.flatMap((room, r) =>
        members(room).flatMap((who, w) =>
          [0, 1, 2].map((k) => write(who, room, `${acknowledged}/${r}/${w}/${k}`, sent)),
        ),
      );
      const isUnderWay = () => sent.filter(({ id }) => id !== undefined).length >= acknowledged;
      await eventually('writes under way', isUnderWay, 60_000);
      world.server.signal('SIGKILL');
      await Promise.all(writers);
      expect((await world.server.exited).signal).to.equal('SIGKILL');
      await world.restart({}, 'kept');
      await world.ready();
      for (const room of rooms) {
        for (const reader of members(room)) {
          const history = await allMessages(reader, room);
          const ids = history.map(({ id }) => id);
          expect(new Set(ids).size, 'doubled ids').to.equal(ids.length);
          for (const one of sent.filter((each) => each.room === room && each.id !== undefined)) {
            expect(ids, one.text).to.include(one.id);
          }
          const texts = history.flatMap((one) => ('body' in one ? [one.body] : []));
          expect(new Set(texts).size, 'doubled texts').to.equal(texts.length);
          const entry = await listed(reader, room);
          const read = entry.participants.find(({ user_id }) => user_id === reader.id)?.last_read_at ?? null;
          expect(entry.unread_count).to.equal(unreadByDefinition(reader.id, read, history));
          expect(entry.last_message_at).to.equal(history.at(-1)?.created_at);
        }
      }
    });
  }

  it('leaves exactly one notification per mention', async () => {
    const ben = people[1];
    if (ben === undefined) throw new Error('nobody');
    const wanted: string[] = [];
    for (const room of rooms.slice(0, 2)) {
      for (const one of await allMessages(ben, room)) {
        if ('body' in one && one.body.includes('@[') && one.sender_user_id !== ben.id) wanted.push(one.id);
      }
    }
    const found = await eventually(
      'every notification',
      async () => {
        const ids: string[] = [];
        let next: string | undefined = `${NOTIFICATIONS}?limit=200`;
        while (next !== undefined) {
          const answer = await ben.api.get(next);
          ids.push(...answer.as(notifications).map(({ note_id }) => note_id));
          next = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
        }
        const count = (await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount);
        // Messages that were never acknowledged, or are deleted now, also notify, perhaps later.
        return wanted.every((id) => ids.includes(id)) && count.unread === ids.length ? ids : undefined;
      },
      60_000,
    );
    expect(new Set(found).size).to.equal(found.length);
  });

  it('keeps deleted messages deleted', async () => {
    const [ada] = people;
    const [room] = rooms;
    if (ada === undefined || room === undefined) throw new Error('nobody');
    const history = await allMessages(ada, room);
    expect(history.some((one) => one.deleted_at !== null)).to.equal(true);
    for (const one of history) expect('body' in one).to.equal(one.deleted_at === null);
  });
});
