import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type Answer, keyed } from '../../support/client.ts';
import { liveMessage, messages, user, users } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { allMessages } from '../../support/unread-model.ts';
import { BASE, startWorld, USERS } from '../../support/world.ts';

/** Answers of a kind of request by key: before the crash, and to the same request after it. */
interface Sent {
  readonly answered: Map<string, Answer>;
  readonly repeated: Map<string, Answer>;
}

/** Answers to kill after: the first, and one while the other requests are at any point between arrival and answer. */
const KILLS = [1, 6];
const MESSAGES = 50;
const PEOPLE = 20;

/** Decisions, section 1: after a crash the repeated request has its effect exactly once. */
describe('Idempotency-Key and kill -9', () => {
  const here = forSuite(() => adaAndBen(startWorld));
  const sent = { messages: [] as Sent[], people: [] as Sent[] };
  /** The list of messages as each restarted server showed it first. */
  const firstReads: Answer[] = [];
  let cut = 0;

  const list = () => here().ada.api.get(`${BASE}/${here().id}/messages?limit=200`);
  const sendMessage = (key: string): Promise<Answer> =>
    here().ada.api.post(`${BASE}/${here().id}/messages`, { body: `for ${key}` }, keyed(key));
  const createPerson = (key: string): Promise<Answer> => {
    const body = { email: `${key}@x.example`, display_name: key, role: 'operator' };
    return here().tenant.admin.api.post(USERS, body, keyed(key));
  };
  const keys = (count: number): string[] => Array.from({ length: count }, () => randomUUID());

  // Each round sends messages and people at once, kills the server meanwhile, and repeats every request.
  before(async function () {
    this.timeout(90_000);
    const { world } = here();
    for (const killAfter of KILLS) {
      let arrived = 0;
      const begin = (count: number, send: (key: string) => Promise<Answer>) => {
        const answered = new Map<string, Answer>();
        const flight = keys(count).map(async (key) => {
          try {
            answered.set(key, await send(key));
          } catch {
            cut += 1;
            return key;
          }
          arrived += 1;
          if (arrived === killAfter) world.server.signal('SIGKILL');
          return key;
        });
        return async (): Promise<Sent> => {
          const all = await Promise.all(flight);
          return {
            answered,
            repeated: new Map(await Promise.all(all.map(async (key) => [key, await send(key)] as const))),
          };
        };
      };
      const repeats = [begin(MESSAGES, sendMessage), begin(PEOPLE, createPerson)] as const;
      await world.server.exited;
      await world.restart();
      firstReads.push(await list());
      sent.messages.push(await repeats[0]());
      sent.people.push(await repeats[1]());
    }
    await world.ready();
  });

  it('gives one message per key, at any moment of a crash', async () => {
    expect(cut, 'requests cut off').to.be.greaterThan(0);
    const { ben, id } = here();
    const texts: string[] = [];
    for (const { answered, repeated } of sent.messages) {
      for (const [key, answer] of repeated) {
        expect(answer.as(liveMessage, 201).body).to.equal(`for ${key}`);
        expect(answer.text).to.equal(answered.get(key)?.text ?? answer.text);
        texts.push(`for ${key}`);
      }
    }
    const found = (await allMessages(ben, id)).map((one) => ('body' in one ? one.body : ''));
    expect(found.toSorted()).to.deep.equal(texts.toSorted());
  });

  it('gives no stale reads after the restart: answered writes are visible, or the read is 503', async () => {
    const answered = sent.messages.map((round) =>
      [...round.answered.values()].map((answer) => answer.as(liveMessage, 201).id),
    );
    expect(answered.flat()).not.to.deep.equal([]);
    for (const [round, read] of firstReads.entries()) {
      if (read.status === 200) {
        const shown = read.as(messages).map(({ id }) => id);
        expect(shown).to.include.members(answered.slice(0, round + 1).flat());
      } else expect(read.error).to.equal('read_model_behind');
    }
    expect((await list()).as(messages).map(({ id }) => id)).to.include.members(answered.flat());
  });

  it('gives one user per key, at any moment of a crash', async () => {
    const names: string[] = [];
    for (const { answered, repeated } of sent.people) {
      for (const [key, answer] of repeated) {
        expect(answer.as(user, 201).display_name).to.equal(key);
        expect(answer.text).to.equal(answered.get(key)?.text ?? answer.text);
        names.push(key);
      }
    }
    const found = (await here().tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
    const made = found.map(({ display_name }) => display_name).filter((name) => names.includes(name));
    expect(made.toSorted()).to.deep.equal(names.toSorted());
  });
});
