import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { type Answer, keyed } from '../../support/client.ts';
import { sendRaw } from '../../support/raw.ts';
import { randomName } from '../../support/server.ts';
import { messages, tenant as tenantShape, user, validationFailed } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { allMessages } from '../../support/unread-model.ts';
import { BASE, type Member, NOTIFICATIONS, startLater, talk, USERS } from '../../support/world.ts';
import { expectReplay } from './support.ts';

describe('Idempotency-Key', () => {
  const here = forSuite(adaAndBen);

  const send = (who: Member, body: unknown, key: string): Promise<Answer> =>
    who.api.post(`${BASE}/${here().id}/messages`, body, keyed(key));
  const sentWith = async (text: string) =>
    (await allMessages(here().ada, here().id)).filter((one) => 'body' in one && one.body === text);

  it('replays the answer and has one effect', async () => {
    const { ada, id } = here();
    const key = randomUUID();
    const first = await send(ada, { body: 'once', more: { b: 1, a: [1, 2] } }, key);
    expect(first.status).to.equal(201);
    expectReplay(first, await send(ada, { body: 'once', more: { b: 1, a: [1, 2] } }, key));
    expectReplay(first, await send(ada, { more: { a: [1, 2], b: 1 }, body: 'once' }, key));
    const raw = ' { "more" : {"a":[1.0,2e0],"b":1}, "body":"\\u006fnce"}';
    expectReplay(first, await ada.api.post(`${BASE}/${id}/messages`, undefined, { raw, ...keyed(key) }));
    expect(await sentWith('once')).to.have.length(1);
  });

  it('is refused with 422 for another request', async () => {
    const { tenant, ada, id } = here();
    const key = randomUUID();
    await send(ada, { body: 'mine', list: [1, 2] }, key);
    const other = await talk(ada, tenant.admin);
    const mid = (await allMessages(ada, id)).at(-1)?.id;
    for (const [what, call] of [
      ['another text', () => send(ada, { body: 'other', list: [1, 2] }, key)],
      ['another order of a list', () => send(ada, { body: 'mine', list: [2, 1] }, key)],
      ['another type', () => send(ada, { body: 'mine', list: ['1', 2] }, key)],
      ['a key less', () => send(ada, { body: 'mine' }, key)],
      [
        'another path',
        () => ada.api.post(`${BASE}/${other}/messages`, { body: 'mine', list: [1, 2] }, keyed(key)),
      ],
      [
        'another method',
        () => ada.api.patch(`${BASE}/${id}/messages/${mid}`, { body: 'mine', list: [1, 2] }, keyed(key)),
      ],
    ] as const) {
      const answer = await call();
      expect([answer.status, answer.error], what).to.deep.equal([422, 'idempotency_key_reused']);
    }
    expect(await sentWith('mine')).to.have.length(1);
  });

  it('belongs to its tenant and caller', async () => {
    const { world, ada, ben } = here();
    const key = randomUUID();
    const stranger = await (await world.tenant()).person('Stranger');
    const answers = [
      await ada.api.post(`${NOTIFICATIONS}/mark-read`, { all: true }, keyed(key)),
      await ben.api.post(`${NOTIFICATIONS}/mark-read`, { all: true }, keyed(key)),
      await stranger.api.post(`${NOTIFICATIONS}/mark-read`, { ids: ['x'] }, keyed(key)),
      await world.platform.post('/super/tenants', { id: randomName('k'), name: 'x' }, keyed(key)),
    ];
    for (const answer of answers) {
      expect(answer.status).to.be.lessThan(300);
      expect(answer.header('idempotency-replayed')).to.equal(undefined);
    }
  });

  it('gives concurrent requests one effect and one answer', async () => {
    const { ada } = here();
    for (const size of [2, 20]) {
      const key = randomUUID();
      const text = `at once ${size}`;
      const answers = await Promise.all(Array.from({ length: size }, () => send(ada, { body: text }, key)));
      expect(new Set(answers.map((answer) => answer.text)).size).to.equal(1);
      expect(answers.filter((answer) => answer.header('idempotency-replayed') === undefined)).to.have.length(
        1,
      );
      expect(await sentWith(text)).to.have.length(1);
    }
  });

  it('is released after a refusal', async () => {
    const { ada } = here();
    const key = randomUUID();
    (await send(ada, { body: '' }, key)).as(validationFailed, 400);
    expect((await send(ada, { body: 'now right' }, key)).status).to.equal(201);
  });

  for (const key of ['', ' ', 'a\tb', 'x'.repeat(256), 'é']) {
    it(`must not be ${JSON.stringify(key.slice(0, 12))} of ${key.length} characters`, async () => {
      const { ada } = here();
      (await send(ada, { body: 'x' }, key)).as(validationFailed, 400);
    });
  }

  it('may be 1 to 255 characters', async () => {
    const { ada } = here();
    for (const key of ['x', '"quoted"', 'order 17, line  2', 'x'.repeat(255)])
      expect((await send(ada, { body: 'x' }, key)).status).to.equal(201);
  });

  it('may hold spaces inside, and is refused when it is sent in two headers', async () => {
    const { world, ada, id } = here();
    const first = await send(ada, { body: 'spaced' }, 'a key, with spaces');
    expectReplay(first, await send(ada, { body: 'spaced' }, 'a key, with spaces'));
    const body = JSON.stringify({ body: 'twice' });
    const [answer] = await sendRaw(
      world.server,
      `POST ${BASE}/${id}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ada.token}\r\n` +
        `Idempotency-Key: a key\r\nIdempotency-Key: with spaces\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect([answer?.status, answer?.error]).to.deep.equal([400, 'validation_failed']);
  });

  it('is ignored on reads', async () => {
    const { ada } = here();
    const key = randomUUID();
    for (let i = 0; i < 2; i += 1) {
      const answer = await ada.api.get(BASE, keyed(key));
      expect([answer.status, answer.header('idempotency-replayed')]).to.deep.equal([200, undefined]);
    }
  });

  it('does not replay deleted text', async () => {
    const { ada, id } = here();
    const key = randomUUID();
    const first = await send(ada, { body: 'a text to forget' }, key);
    const mid = messages.element.parse(first.json).id;
    const edit = await ada.api.patch(
      `${BASE}/${id}/messages/${mid}`,
      { body: 'a text forgotten later' },
      keyed(`${key}2`),
    );
    await ada.api.delete(`${BASE}/${id}/messages/${mid}`);
    const again = await send(ada, { body: 'a text to forget' }, key);
    const path = `${BASE}/${id}/messages/${mid}`;
    const editAgain = await ada.api.patch(path, { body: 'a text forgotten later' }, keyed(`${key}2`));
    expect(edit.status).to.equal(200);
    for (const answer of [again, editAgain]) {
      expect(answer.text).not.to.contain('forg');
      expect(answer.status).to.be.lessThan(300);
      expect(messages.element.parse(answer.json).id).to.equal(mid);
    }
    expect((await allMessages(ada, id)).filter((one) => one.id === mid)).to.have.length(1);
  });

  it('survives a restart', async () => {
    const { world, tenant, ada } = here();
    const key = randomUUID();
    const first = await send(ada, { body: 'before the restart' }, key);
    const email = `${randomUUID()}@x.example`;
    const body = { email, display_name: 'Kept', role: 'operator', password: 'a-good-password' };
    const made = await tenant.admin.api.post(USERS, body, keyed(key));
    const other = { id: randomName('t'), name: 'Kept' };
    const tenantMade = await world.platform.post('/super/tenants', other, keyed(key));
    tenantMade.as(tenantShape, 201);
    const later = await startLater(world);
    expectReplay(first, await send({ ...ada, api: ada.api.at(later) }, { body: 'before the restart' }, key));
    const again = await tenant.admin.api.at(later).post(USERS, body, keyed(key));
    again.as(user, 201);
    expectReplay(made, again);
    const platform = world.platform.at(later);
    expectReplay(tenantMade, await platform.post('/super/tenants', other, keyed(key)));
    expect(await sentWith('before the restart')).to.have.length(1);
  });
});
