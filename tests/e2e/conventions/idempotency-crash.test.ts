import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { keyed } from '../../support/client.ts';
import { liveMessage, messages, users } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { allMessages } from '../../support/unread-model.ts';
import { BASE, startWorld, USERS } from '../../support/world.ts';

/** Decisions, section 1: after a crash the repeated request has its effect exactly once. */
describe('Idempotency-Key and kill -9', () => {
  const here = forSuite(() => adaAndBen(startWorld));

  it('gives one message per key, at any moment of a crash', async () => {
    const { world, ada, ben, id } = here();
    const texts = new Set<string>();
    let cut = 0;
    for (let round = 0; round < 2; round += 1) {
      const keys = Array.from({ length: 80 }, () => randomUUID());
      const send = (key: string) =>
        ada.api.post(`${BASE}/${id}/messages`, { body: `for ${key}` }, keyed(key));
      const answered = new Map<string, string>();
      let arrived = 0;
      // Kills after some answers, while other requests are at any point between arrival and answer.
      const flight = keys.map((key) =>
        send(key).then(
          (answer) => {
            answered.set(key, answer.text);
            arrived += 1;
            if (arrived === 1 + round * 5) world.server.signal('SIGKILL');
          },
          () => {
            cut += 1;
          },
        ),
      );
      await Promise.all(flight);
      await world.server.exited;
      await world.restart();
      const retried = await Promise.all(keys.map(async (key) => ({ key, answer: await send(key) })));
      for (const { key, answer } of retried) {
        expect(answer.as(liveMessage, 201).body).to.equal(`for ${key}`);
        const before = answered.get(key);
        if (before !== undefined) expect(answer.text).to.equal(before);
        texts.add(`for ${key}`);
      }
    }
    expect(cut, 'requests cut off').to.be.greaterThan(0);
    await world.ready();
    const found = (await allMessages(ben, id)).map((one) => ('body' in one ? one.body : ''));
    expect(found.length).to.equal(texts.size);
    expect(new Set(found)).to.deep.equal(texts);
  }).timeout(90_000);

  it('gives no stale reads after the restart: answered writes are visible, or the read is 503', async () => {
    const { world, ada, id } = here();
    const key = randomUUID();
    const first = await ada.api.post(`${BASE}/${id}/messages`, { body: 'before' }, keyed(key));
    await world.server.kill();
    await world.restart();
    const list = await ada.api.get(`${BASE}/${id}/messages?limit=1`);
    if (list.status === 200) expect(list.as(messages)[0]?.id).to.equal(first.as(liveMessage, 201).id);
    else expect(list.error).to.equal('read_model_behind');
    await world.ready();
    const [last] = (await ada.api.get(`${BASE}/${id}/messages?limit=1`)).as(messages);
    expect(last?.id).to.equal(first.as(liveMessage, 201).id);
  });

  it('gives one user per key, at any moment of a crash', async () => {
    const { world, tenant } = here();
    const keys = Array.from({ length: 40 }, () => randomUUID());
    const create = (key: string) => {
      const body = { email: `${key}@x.example`, display_name: key, role: 'operator' };
      return tenant.admin.api.post(USERS, body, keyed(key));
    };
    let arrived = 0;
    await Promise.all(
      keys.map((key) =>
        create(key).then(
          () => {
            arrived += 1;
            if (arrived === 3) world.server.signal('SIGKILL');
          },
          () => undefined,
        ),
      ),
    );
    await world.server.exited;
    await world.restart();
    for (const answer of await Promise.all(keys.map(create))) expect(answer.status).to.equal(201);
    await world.ready();
    const found = (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
    const names = found
      .map(({ display_name }) => display_name)
      .filter((name) => keys.some((key) => key === name));
    expect(names.sort()).to.deep.equal([...keys].sort());
  });
});
