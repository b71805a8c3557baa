import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { conversations, liveMessage, messages, notifications, uuid } from '../../support/shapes.ts';
import { listen } from '../../support/socket.ts';
import {
  BASE,
  endWorld,
  type Member,
  NOTIFICATIONS,
  say,
  startWorld,
  type TestTenant,
  talk,
  token,
  USERS,
  type World,
} from '../../support/world.ts';

describe('Two processes on one data folder', () => {
  for (const [first, second] of [
    ['api', 'worker'],
    ['all', 'all'],
  ] as const) {
    describe(`roles ${first} and ${second}`, () => {
      let world: World;
      let other: Server;
      let dataDir: string;
      let tenant: TestTenant;
      let ada: Member;
      let ben: Member;
      let id: string;

      before(async () => {
        dataDir = await newDataFolder();
        other = await startServer({ dataDir, env: { ROLE: second } });
        world = await startWorld({ dataDir, env: { ROLE: first } });
        tenant = await world.tenant();
        ada = await tenant.person('Ada');
        ben = await tenant.person('Ben');
        id = await talk(ada, ben);
      });
      after(endWorld);

      it('serve read models that the other one folds', async () => {
        for (let i = 0; i < 10; i += 1) {
          const sent = await say(ada, id, `hello ${i}`);
          const [last] = (await ben.api.get(`${BASE}/${id}/messages?limit=1`)).as(messages);
          expect(last?.id).to.equal(sent.id);
        }
        await say(ada, id, token(ben));
        await eventually('the notification', async () => {
          return (await ben.api.get(NOTIFICATIONS)).as(notifications).length > 0;
        });
      });

      if (second === 'all') {
        it('read with X-Min-Position a message that was sent at the other', async () => {
          const there = ben.api.at(other);
          for (let i = 0; i < 12; i += 1) {
            const [from, to] = i % 2 ? [ada.api, there] : [there, ada.api];
            const answer = await from.post(`${BASE}/${id}/messages`, { body: `crossing ${i}` });
            const headers = { 'x-min-position': answer.header('x-event-position') ?? '' };
            const [last] = (await to.get(`${BASE}/${id}/messages?limit=1`, { headers })).as(messages);
            expect(last?.id).to.equal(answer.as(liveMessage, 201).id);
            const [top] = (await to.get(BASE, { headers })).as(conversations);
            expect(top?.last_message_at).to.equal(last?.created_at);
          }
        });

        it('show with X-Min-Position a name that was changed at the other', async () => {
          const there = ben.api.at(other);
          for (let i = 0; i < 4; i += 1) {
            const name = `Ben the ${i}.`;
            const answer = await tenant.admin.api.patch(`${USERS}/${ben.id}`, { display_name: name });
            const headers = { 'x-min-position': answer.header('x-event-position') ?? '' };
            const paths = i % 2 ? [BASE, USERS, '/api/v1/tenant/me'] : ['/api/v1/tenant/me', USERS, BASE];
            for (const path of paths)
              expect((await there.get(path, { headers })).text, path).to.contain(name);
          }
        });

        it('send envelopes to a WebSocket of the other, both ways', async () => {
          const here = await listen(world.server, ben.token);
          const there = await listen(other, ben.token);
          const sent = [await say(ada, id, 'from here')];
          const answer = await ada.api.at(other).post(`${BASE}/${id}/messages`, { body: 'from there' });
          sent.push(answer.as(liveMessage, 201));
          for (const socket of [here, there]) {
            const got = await socket.messages(2);
            expect(got.map((one) => one.message.id)).to.deep.equal(sent.map((one) => one.id));
            socket.close();
          }
        });

        it('refuse within a second a person deactivated at the other, and close their sockets', async () => {
          const cy = await tenant.person('Cy');
          const there = cy.api.at(other);
          expect((await there.get(BASE)).status).to.equal(200);
          const socket = await listen(other, cy.token);
          await tenant.admin.api.patch(`${USERS}/${cy.id}`, { status: 'deactivated' });
          const began = performance.now();
          await eventually('the refusal', async () => (await there.get(BASE)).status === 401);
          expect(performance.now() - began).to.be.lessThan(await atPresentPace(1000));
          expect((await socket.closed).code).to.equal(4403);
        });

        it('execute a request once when both receive it with the same idempotency key', async () => {
          for (let i = 0; i < 5; i += 1) {
            const headers = { 'idempotency-key': `crossing-${i}` };
            const send = (who: Member['api']) =>
              who.post(`${BASE}/${id}/messages`, { body: `key ${i}` }, { headers });
            const answers = await Promise.all([
              send(ada.api),
              send(ada.api.at(other)),
              send(ada.api),
              send(ada.api.at(other)),
            ]);
            const ids = answers.map((answer) => messages.element.parse(answer.json).id);
            expect(new Set(ids).size).to.equal(1);
            const page = (await ada.api.get(`${BASE}/${id}/messages?limit=5`)).as(messages);
            const same = page.filter((one) => 'body' in one && one.body === `key ${i}`);
            expect(same.map((one) => one.id)).to.deep.equal([uuid.parse(ids[0])]);
          }
        });

        it('write to one conversation concurrently without losing or doubling a message', async () => {
          const room = await talk(ada, tenant.admin);
          const sent = await Promise.all(
            Array.from({ length: 100 }, async (_, i) => {
              const api = i % 2 ? ada.api : ada.api.at(other);
              return (await api.post(`${BASE}/${room}/messages`, { body: `race ${i}` })).as(liveMessage, 201);
            }),
          );
          await eventually('all of them', async () => {
            const page = (await ada.api.get(`${BASE}/${room}/messages?limit=200`)).as(messages);
            if (page.length < 100) return false;
            expect(page.map((one) => one.id).sort()).to.deep.equal(sent.map((one) => one.id).sort());
            const times = page.map((one) => one.created_at);
            expect(times).to.deep.equal([...times].sort());
            return true;
          });
          // Each process opens texts that the other sealed, since both read the data keys in the data folder.
          for (const api of [ada.api, ada.api.at(other)]) {
            const page = (await api.get(`${BASE}/${room}/messages?limit=200`)).as(messages);
            const bodies = page.map((one) => ('body' in one ? one.body : undefined)).sort();
            expect(bodies).to.deep.equal(Array.from({ length: 100 }, (_, i) => `race ${i}`).sort());
          }
        });

        it('send one message for a key that reaches both at once', async () => {
          const room = await talk(ben, tenant.admin);
          for (let i = 0; i < 30; i += 1) {
            const request = (api: Member['api']) =>
              api.post(
                `${BASE}/${room}/messages`,
                { body: `keyed ${i}` },
                { headers: { 'Idempotency-Key': `both-${i}` } },
              );
            const [near, far] = i % 2 ? [ben.api, ben.api.at(other)] : [ben.api.at(other), ben.api];
            const one = request(near);
            // Various gaps, so that the second request meets every state of the first.
            for (let ticks = 0; ticks < i * 6; ticks += 1)
              await new Promise((resolve) => setImmediate(resolve));
            const [first, second] = await Promise.all([one, request(far)]);
            expect(second.as(liveMessage, 201).id).to.equal(first.as(liveMessage, 201).id);
          }
          const page = (await ben.api.get(`${BASE}/${room}/messages?limit=200`)).as(messages);
          expect(page).to.have.length(30);
          const listed = (await tenant.admin.api.get(BASE)).as(conversations);
          expect(listed.find((one) => one.id === room)?.unread_count).to.equal(30);
        });
      }

      it('take over when the process that folds is killed', async () => {
        await other.kill();
        if (first === 'api') other = await startServer({ dataDir, env: { ROLE: 'worker' } });
        const sent = await say(ada, id, `after the kill ${token(ben)}`);
        const [last] = await eventually(
          'a read of the message',
          async () => {
            const answer = await ben.api.get(`${BASE}/${id}/messages?limit=1`);
            return answer.status === 200 ? answer.as(messages) : undefined;
          },
          60_000,
        );
        expect(last?.id).to.equal(sent.id);
        await eventually(
          'the notification',
          async () => {
            const found = (await ben.api.get(NOTIFICATIONS)).json;
            const parsed = notifications.safeParse(found);
            return parsed.success && parsed.data.some((one) => one.note_id === sent.id);
          },
          60_000,
        );
      });
    });
  }
});
