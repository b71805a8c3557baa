import { expect } from 'chai';
import * as fc from 'fast-check';
import { type Message, message } from '../../support/shapes.ts';
import { allMessages, listed, unreadByDefinition } from '../../support/unread-model.ts';
import {
  BASE,
  endWorld,
  type Member,
  say,
  sharedWorld,
  type TestTenant,
  talk,
  type World,
} from '../../support/world.ts';

interface Step {
  readonly kind: 'send' | 'read' | 'delete' | 'edit';
  readonly who: number;
  /** Selects one of the actor's own messages to change. */
  readonly pick: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('send', 'send', 'send', 'send', 'read', 'read', 'delete', 'delete', 'edit'),
  who: fc.nat(2),
  pick: fc.nat(1000),
});

describe('Unread counts', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
  });
  after(endWorld);

  const trio = async (): Promise<{ people: Member[]; id: string }> => {
    const people = [await tenant.person('A'), await tenant.person('B'), await tenant.person('C')];
    const [first, ...others] = people;
    if (first === undefined) throw new Error('nobody');
    return { people, id: await talk(first, ...others) };
  };

  const own = (history: readonly Message[], userId: string, at: number): Message | undefined => {
    const mine = history.filter(({ sender_user_id }) => sender_user_id === userId);
    return mine[at % Math.max(1, mine.length)];
  };

  const perform = async (one: Step, people: readonly Member[], id: string, sent: Message[]) => {
    const actor = people[one.who];
    if (actor === undefined) return;
    if (one.kind === 'send') sent.push(await say(actor, id, 'text'));
    else if (one.kind === 'read') await actor.api.post(`${BASE}/${id}/read`);
    else {
      const target = own(sent, actor.id, one.pick);
      if (target === undefined) return;
      const path = `${BASE}/${id}/messages/${target.id}`;
      if (one.kind === 'edit') await actor.api.patch(path, { body: 'other' });
      else message.parse((await actor.api.delete(path)).json);
    }
  };

  const agree = async (people: readonly Member[], id: string): Promise<void> => {
    for (const person of people) {
      const entry = await listed(person, id);
      const history = await allMessages(person, id);
      const read = entry.participants.find(({ user_id }) => user_id === person.id)?.last_read_at ?? null;
      expect(entry.unread_count, person.name).to.equal(unreadByDefinition(person.id, read, history));
    }
  };

  it('follow the definition after every step of random histories', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const { people, id } = await trio();
        const sent: Message[] = [];
        // A second model without times: for each person, the messages that were sent after the last read.
        const unread = new Map(people.map((person) => [person.id, new Set<string>()]));
        for (const one of steps) {
          const before = sent.length;
          await perform(one, people, id, sent);
          const actor = people[one.who]?.id ?? '';
          for (const message of sent.slice(before)) {
            for (const [userId, set] of unread) if (userId !== actor) set.add(message.id);
          }
          if (one.kind === 'read') unread.get(actor)?.clear();
          if (one.kind === 'delete') {
            const target = own(sent, actor, one.pick);
            if (target !== undefined) for (const set of unread.values()) set.delete(target.id);
          }
          for (const person of people) {
            expect((await listed(person, id)).unread_count, `${person.name} after ${one.kind}`).to.equal(
              unread.get(person.id)?.size,
            );
          }
        }
        await agree(people, id);
      }),
      { numRuns: 5 },
    );
  });

  it('follow the definition under concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const { people, id } = await trio();
        const sent: Message[] = [];
        for (let at = 0; at < steps.length; at += 10) {
          await Promise.all(steps.slice(at, at + 10).map((one) => perform(one, people, id, sent)));
        }
        await agree(people, id);
      }),
      { numRuns: 5 },
    );
  });

  it('decrease when an unread message is deleted, but not when a read message is', async () => {
    const { people, id } = await trio();
    const [a, b] = people;
    if (a === undefined || b === undefined) throw new Error('nobody');
    const read = await say(a, id, 'read');
    await b.api.post(`${BASE}/${id}/read`);
    const unread = await say(a, id, 'unread');
    await say(a, id, 'stays');
    expect((await listed(b, id)).unread_count).to.equal(2);
    await a.api.delete(`${BASE}/${id}/messages/${read.id}`);
    expect((await listed(b, id)).unread_count).to.equal(2);
    await a.api.delete(`${BASE}/${id}/messages/${unread.id}`);
    await a.api.delete(`${BASE}/${id}/messages/${unread.id}`);
    expect((await listed(b, id)).unread_count).to.equal(1);
  });
});
