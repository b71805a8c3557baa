import { expect } from 'chai';
import { linesOf, partnerWith, usageOf } from '../../support/billing.ts';
import type { TestPartner } from '../../support/partners.ts';
import { allMessages } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  type Member,
  startWorld,
  type TestTenant,
  talk,
  type World,
} from '../../support/world.ts';

/** Counts equal the log's, at any moment of a kill. */
describe('Metering and kill -9', () => {
  let world: World;
  let partner: TestPartner;
  let tenant: TestTenant;
  let people: Member[];
  let room: string;

  before(async () => {
    world = await startWorld();
    const made = await partnerWith(world, 1);
    const [first] = made.tenants;
    if (first === undefined) throw new Error('no tenant');
    [partner, tenant] = [made.partner, first];
    people = [await tenant.person('Ada'), await tenant.person('Ben'), await tenant.person('Cy')];
    const [ada, ...others] = people;
    if (ada === undefined) throw new Error('nobody');
    room = await talk(ada, ...others);
  });
  after(endWorld);

  /** Writes until the server is killed. */
  const write = async (who: Member): Promise<void> => {
    for (;;) {
      try {
        const answer = await who.api.post(`${BASE}/${room}/messages`, { body: 'counted' });
        expect(answer.status).to.equal(201);
      } catch (error) {
        // Only the connection may fail: a wrong answer is not a kill.
        if (error instanceof TypeError) return;
        throw error;
      }
    }
  };

  for (const least of [150, 420, 900, 1600]) {
    describe(`after ${least} ms or a little more`, () => {
      it('counts each message once', async () => {
        const writers = people.flatMap((who) => [write(who), write(who), write(who)]);
        setTimeout(() => world.server.signal('SIGKILL'), least + Math.random() * 100);
        await Promise.all(writers);
        expect((await world.server.exited).signal).to.equal('SIGKILL');
        await world.restart();
        await world.ready();
        const [ada] = people;
        if (ada === undefined) throw new Error('nobody');
        const written = await allMessages(ada, room);
        expect(written.length).to.be.greaterThan(0);
        const lines = await linesOf(partner, tenant.id);
        expect(lines.get('messages_sent')?.quantity).to.equal(written.length);
        // The creator of the conversation and the people, and all who wrote before the kill.
        const active = new Set([tenant.admin.id, ada.id, ...written.map((each) => each.sender_user_id)]);
        expect(lines.get('active_users')?.quantity).to.equal(active.size);
        const events = await usageOf(partner, tenant.id, 'messages_sent', '&limit=200');
        expect(events.length).to.equal(written.length);
        expect(new Set(events.map(({ event_id }) => event_id)).size).to.equal(written.length);
        const firsts = await usageOf(partner, tenant.id, 'active_users');
        expect(firsts.map(({ actor }) => actor.id)).to.have.members([...active]);
      }).timeout(90_000);
    });
  }
});
