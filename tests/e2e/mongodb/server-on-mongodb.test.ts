import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { type Answer, documentOf, keyed } from '../../support/client.ts';
import { inbox, inboxOf } from '../../support/inbox.ts';
import { describeWithMongo } from '../../support/mongodb-server.ts';
import { onMongo } from '../../support/mongodb-world.ts';
import { eventually, type Server, startServer } from '../../support/server.ts';
import {
  conversation,
  deletedMessage,
  liveMessage,
  type Message,
  marked,
  messages,
  notifications,
  unreadCount,
  users,
} from '../../support/shapes.ts';
import { allMessages, listed, unreadByDefinition } from '../../support/unread-model.ts';
import {
  BASE,
  type Member,
  NOTIFICATIONS,
  say,
  type TestTenant,
  talk,
  token,
  USERS,
} from '../../support/world.ts';

/** A dead node's leases lapse within 3 s; machines that run tests are slow. */
const TAKE_OVER_MS = 60_000;

/** Expects each person's unread count to follow the definition, applied to the messages that the person sees. */
const expectUnreadByDefinition = async (people: readonly Member[], id: string): Promise<void> => {
  for (const person of people) {
    const entry = await listed(person, id);
    const read = entry.participants.find(({ user_id }) => user_id === person.id)?.last_read_at ?? null;
    const history = await allMessages(person, id);
    expect(entry.unread_count, person.name).to.equal(unreadByDefinition(person.id, read, history));
  }
};

/** Repeats a read while it is 503, until another node has taken over the projections of a dead one. */
const untilAnswered = (who: Member, path: string): Promise<Answer> =>
  eventually(
    `an answer to ${path}`,
    async () => {
      const answer = await who.api.get(path);
      return answer.status === 503 ? undefined : answer;
    },
    TAKE_OVER_MS,
  );

await describeWithMongo('the real server on MongoDB', (title, start) => {
  describe(`The server on MongoDB (${title}): one process`, () => {
    const on = onMongo(start, { ROLE: 'all' });
    let tenant: TestTenant;
    let ada: Member;
    let ben: Member;
    let id: string;

    before(async () => {
      tenant = await on().world.tenant();
      ada = await tenant.person('Ada');
      ben = await tenant.person('Ben');
      // The answer is 503 until the read models have caught up.
      id = await eventually('a conversation', () => talk(ada, ben).catch(() => undefined));
    });

    const path = (mid: string): string => `${BASE}/${id}/messages/${mid}`;
    const list = async (who: Member) => (await who.api.get(`${BASE}/${id}/messages`)).as(messages);

    it('serves the same document as a server on embedded stores', async () => {
      const embedded = await startServer();
      expect(await documentOf(on().world.server)).to.deep.equal(await documentOf(embedded));
      await embedded.stop();
    });

    it('answers empty lists at first', async () => {
      expect(await list(ada)).to.deep.equal([]);
      expect(await inbox(ben)).to.deep.equal([]);
      expect((await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread).to.equal(0);
    });

    it('lists its users', async () => {
      const names = (await ben.api.get(USERS)).as(users).map(({ display_name }) => display_name);
      expect(names).to.include.members(['Ada', 'Ben']).and.to.have.length(3);
    });

    it('sends, lists and counts messages, also many at once', async () => {
      const first = await say(ada, id, 'first');
      expect(await list(ben)).to.deep.equal([first]);
      expect((await listed(ben, id)).unread_count).to.equal(1);
      await Promise.all(Array.from({ length: 40 }, (_, i) => say(i % 2 ? ada : ben, id, `quick ${i}`)));
      expect(await list(ada)).to.have.length(41);
      expect((await listed(ben, id)).unread_count).to.equal(21);
      expect((await listed(ada, id)).unread_count).to.equal(20);
      await ben.api.post(`${BASE}/${id}/read`);
      expect((await listed(ben, id)).unread_count).to.equal(0);
      await expectUnreadByDefinition([ada, ben], id);
    });

    it('notifies of mentions, once each, and marks them read', async () => {
      const sent = await say(ada, id, `see ${token(ben)}`);
      await say(ada, id, `and ${token(ben)}`);
      const found = await inboxOf(ben, 2, TAKE_OVER_MS);
      expect(found.map(({ snippet }) => snippet)).to.deep.equal(['and @Ben', 'see @Ben']);
      expect(found[1]).to.deep.include({ note_id: sent.id, subject_id: id, actor_email: ada.email });
      const mark = await ben.api.post(`${NOTIFICATIONS}/mark-read`, { ids: [found[1]?.id] });
      expect(mark.as(marked).marked).to.equal(1);
      expect((await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread).to.equal(1);
      const unread = (await ben.api.get(`${NOTIFICATIONS}?unread=true`)).as(notifications);
      expect(unread.map((one) => one.id)).to.deep.equal([found[0]?.id]);
      expect((await ben.api.post(`${NOTIFICATIONS}/mark-read`, { all: true })).as(marked).marked).to.equal(1);
      expect((await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread).to.equal(0);
    });

    it('edits and deletes, and the text is gone from every read', async () => {
      const secret = `secret-${randomUUID()}`;
      const notified = (await inbox(ben)).length;
      const sent = await say(ada, id, `${secret} ${token(ben)}`);
      await inboxOf(ben, notified + 1, TAKE_OVER_MS);
      const edited = (await ada.api.patch(path(sent.id), { body: `${secret} again` })).as(liveMessage);
      expect((await list(ben)).at(-1)).to.deep.equal(edited);
      const deleted = (await ada.api.delete(path(sent.id))).as(deletedMessage);
      for (const who of [ada, ben]) {
        expect((await list(who)).at(-1)).to.deep.equal(deleted);
        for (const read of [`${BASE}/${id}/messages`, BASE, NOTIFICATIONS]) {
          expect((await who.api.get(read)).text, read).to.not.contain(secret);
        }
      }
      await expectUnreadByDefinition([ada, ben], id);
    });

    it('answers a repeated keyed request from what it stored, also after kill -9', async () => {
      const key = randomUUID();
      const send = () => ada.api.post(`${BASE}/${id}/messages`, { body: 'keyed' }, keyed(key));
      const first = await send();
      const sent = first.as(liveMessage, 201);
      const again = await send();
      expect(again.as(liveMessage, 201)).to.deep.equal(sent);
      expect(again.header('idempotency-replayed')).to.equal('true');
      await on().world.server.kill();
      await on().world.restart();
      const later = await send();
      expect(later.as(liveMessage, 201)).to.deep.equal(sent);
      expect(later.header('idempotency-replayed')).to.equal('true');
      await untilAnswered(ada, BASE);
      expect((await list(ada)).filter(({ id: each }) => each === sent.id)).to.have.length(1);
      expect((await list(ada)).at(-1)).to.deep.equal(sent);
    }).timeout(90_000);

    it('keeps read models, keys and answers in MongoDB only, and no text in the clear', async () => {
      const files = readdirSync(on().world.server.dataDir);
      expect(files).to.include('events.db');
      for (const other of ['read-models.db', 'keys.db', 'answers.db']) expect(files).to.not.include(other);
      const phrase = `clear-${randomUUID()}`;
      await ada.api.post(`${BASE}/${id}/messages`, { body: phrase }, keyed(randomUUID()));
      expect((await list(ben)).at(-1)).to.have.property('body', phrase);
      const { db } = on();
      const names = (await db.listCollections().toArray()).map(({ name }) => name);
      expect(names).to.include.members(['data_keys', 'idempotency_answers']);
      for (const name of names) {
        const stored = JSON.stringify(await db.collection(name).find().toArray());
        expect(stored.includes(phrase), `the text in ${name}`).to.equal(false);
      }
    });
  });
});

await describeWithMongo('two roles on MongoDB', (title, start) => {
  describe(`The server on MongoDB (${title}): ROLE=api and ROLE=worker`, () => {
    const on = onMongo(start, { ROLE: 'api' });
    let second: Server;
    let worker: Server;
    let people: Member[];
    let ada: Member;
    let ben: Member;
    let id: string;

    const join = (ROLE: 'api' | 'worker'): Promise<Server> =>
      startServer({
        dataDir: on().world.server.dataDir,
        env: { MONGODB_URL: on().database.databaseUrl, ROLE },
      });

    before(async () => {
      [worker, second] = await Promise.all([join('worker'), join('api')]);
      const tenant = await on().world.tenant();
      ada = await tenant.person('Ada');
      ben = await tenant.person('Ben');
      people = [ada, ben];
      // The answer is 503 until the worker has caught up.
      id = await eventually('a conversation', () => talk(ada, ben).catch(() => undefined));
    });

    it('serves a write from any node to a reader who brings its position', async () => {
      for (let i = 0; i < 15; i += 1) {
        const answer = await ada.api.post(`${BASE}/${id}/messages`, { body: `${i}` });
        const sent = answer.as(liveMessage, 201);
        const headers = { 'x-min-position': answer.header('x-event-position') ?? '' };
        for (const reader of [ben.api, ben.api.at(second)]) {
          // A busy machine may take more than the 5 s after which a read is answered 503.
          const found = await eventually('the message', async () => {
            const got = await reader.get(`${BASE}/${id}/messages?limit=1`, { headers });
            return got.status === 503 ? undefined : got.as(messages);
          });
          expect(found).to.deep.equal([sent]);
        }
      }
      await expectUnreadByDefinition(people, id);
    });

    it('continues with another worker after kill -9 of one, without loss or duplicate', async () => {
      const next = await join('worker');
      const notified = (await inbox(ben)).length;
      const before = (await allMessages(ada, id)).map((message) => message.id);
      const sent: Message[] = [];
      let mentions = 0;
      const write = async (rounds: number): Promise<void> => {
        for (let i = 0; i < rounds; i += 1) {
          sent.push(await say(ada, id, `see ${token(ben)}`), await say(ben, id, 'yes'));
          mentions += 1;
          const target = sent[i * 2];
          if (i % 5 === 4 && target !== undefined) {
            (await ada.api.delete(`${BASE}/${id}/messages/${target.id}`)).as(deletedMessage);
          }
        }
      };
      const writing = write(30);
      await eventually('a part of the writes', () => sent.length > 20, TAKE_OVER_MS);
      await worker.kill();
      await writing;
      await write(5);
      // Until the other worker takes over, no process folds: a read that must show a write waits or answers 503.
      for (const read of [`${BASE}/${id}/messages`, NOTIFICATIONS]) await untilAnswered(ben, read);
      await inboxOf(ben, notified + mentions, TAKE_OVER_MS);
      await say(ada, id, `last ${token(ben)}`);
      const raised = (await inboxOf(ben, notified + mentions + 1, TAKE_OVER_MS)).slice(0, mentions + 1);
      expect(new Set(raised.map(({ note_id }) => note_id)).size).to.equal(mentions + 1);
      expect(await inbox(ben)).to.have.length(notified + mentions + 1);
      // A batch's documents are written one after the other, so the list may show a notification that the count lacks.
      const unread = async (): Promise<number> =>
        (await ben.api.get(`${NOTIFICATIONS}/unread-count`)).as(unreadCount).unread;
      await eventually('the count', async () => (await unread()) >= notified + mentions + 1, TAKE_OVER_MS);
      expect(await unread()).to.equal(notified + mentions + 1);
      const found = (await allMessages(ada, id)).map((message) => message.id);
      expect(found.slice(0, -1)).to.have.members([...before, ...sent.map((message) => message.id)]);
      await expectUnreadByDefinition(people, id);
      expect((await next.stop()).code).to.equal(0);
    }).timeout(150_000);
  });
});

await describeWithMongo('kill -9 on MongoDB', (title, start) => {
  describe(`The server on MongoDB (${title}): kill -9 under write load`, () => {
    const on = onMongo(start, { ROLE: 'all' });

    it('loses no acknowledged write, does none twice, and counts by the definition', async () => {
      const tenant = await on().world.tenant();
      const people = [await tenant.person('Ada'), await tenant.person('Ben'), await tenant.person('Cy')];
      const [ada, ...others] = people;
      if (ada === undefined) throw new Error('nobody');
      // The server has just started, and may answer once or twice that it is not ready.
      const begun = await eventually(
        'a conversation',
        async () => {
          const asked = { participant_user_ids: others.map(({ id }) => id) };
          const answer = await ada.api.post(BASE, asked);
          return answer.status === 503 ? undefined : answer;
        },
        TAKE_OVER_MS,
      );
      const { id } = begun.as(conversation, 201);
      const pending = new Map<string, Member>();
      const sent = new Map<string, Message>();
      let killed = false;

      const send = async (who: Member, key: string): Promise<void> => {
        pending.set(key, who);
        const answer = await who.api.post(`${BASE}/${id}/messages`, { body: `text ${key}` }, keyed(key));
        sent.set(key, answer.as(liveMessage, 201));
        pending.delete(key);
      };
      const work = async (who: Member): Promise<void> => {
        for (let i = 0; !killed; i += 1) {
          await send(who, randomUUID());
          if (i % 4 === 3) await who.api.post(`${BASE}/${id}/read`);
          const own = [...sent.values()].filter(({ sender_user_id }) => sender_user_id === who.id);
          if (i % 5 === 4) await who.api.delete(`${BASE}/${id}/messages/${own[i % own.length]?.id}`);
        }
      };
      const working = people.map((who) =>
        work(who).catch((error: unknown) => {
          // Requests under way when the process died may fail; earlier ones may not.
          if (!killed) throw error;
        }),
      );
      await eventually('enough writes', () => sent.size >= 60, 15_000);
      killed = true;
      await on().world.server.kill();
      await Promise.all(working);

      await on().world.restart();
      // Requests without an answer are repeated with the same key.
      for (const [key, who] of [...pending]) await send(who, key);
      await untilAnswered(ada, BASE);
      const history = await allMessages(ada, id);
      expect(history.map((message) => message.id)).to.have.members(
        [...sent.values()].map((message) => message.id),
      );
      await expectUnreadByDefinition(people, id);
      await say(ada, id, 'on and on');
      await expectUnreadByDefinition(people, id);
    }).timeout(150_000);
  });
});
