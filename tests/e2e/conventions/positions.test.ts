import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { conversations, messages, notifications, validationFailed } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, NOTIFICATIONS, say, token, USERS } from '../../support/world.ts';

describe('Positions', () => {
  const here = forSuite(adaAndBen);

  it('are in the answer to every write, also to one without a change, and grow', async () => {
    const { world, tenant, ada, ben, id } = here();
    const sent = await say(ada, id, 'x');
    const path = `${BASE}/${id}/messages/${sent.id}`;
    let before = '';
    for (const [what, call] of [
      ['a new conversation', () => ada.api.post(BASE, { participant_user_ids: [tenant.admin.id] })],
      ['a message', () => ada.api.post(`${BASE}/${id}/messages`, { body: 'x' })],
      ['an edit', () => ada.api.patch(path, { body: 'y' })],
      ['a reading', () => ada.api.post(`${BASE}/${id}/read`)],
      ['a deletion', () => ada.api.delete(path)],
      [
        'a new user',
        () => tenant.admin.api.post(USERS, { email: 'x@y.example', display_name: 'X', role: 'admin' }),
      ],
      ['a changed user', () => tenant.admin.api.patch(`${USERS}/${ben.id}`, { display_name: 'Benny' })],
      ['a changed tenant', () => world.platform.patch(`/super/tenants/${tenant.id}`, { name: 'New' })],
    ] as const) {
      const answer = await call();
      const position = answer.header('x-event-position') ?? '';
      expect(position, what).to.match(/^[\x21-\x7e]{1,128}$/);
      expect(position > before, what).to.equal(true);
      before = position;
    }
    for (const [what, call] of [
      ['a deletion again', () => ada.api.delete(path)],
      ['an existing conversation', () => ada.api.post(BASE, { participant_user_ids: [ben.id] })],
      ['no change of a user', () => tenant.admin.api.patch(`${USERS}/${ben.id}`, {})],
    ] as const) {
      const answer = await call();
      expect(answer.status, what).to.be.lessThan(300);
      expect(answer.header('x-event-position') ?? '', what).to.match(/^[\x21-\x7e]{1,128}$/);
    }
  });

  it('are in the answer to a mark-read of a person without notifications', async () => {
    const { tenant } = here();
    const nobody = await tenant.person('Nobody');
    const answer = await nobody.api.post(`${NOTIFICATIONS}/mark-read`, { all: true });
    expect(answer.header('x-event-position') ?? 'none').to.match(/^[0-9a-f]{16}$/);
  });

  it('are not needed by the same caller: answered writes are read at once', async () => {
    const { ada, ben, id } = here();
    for (let i = 0; i < 50; i += 1) {
      const sent = await say(i % 2 ? ada : ben, id, `at once ${i}`);
      const [last] = (await ada.api.get(`${BASE}/${id}/messages?limit=1`)).as(messages);
      expect(last?.id).to.equal(sent.id);
      const [top] = (await ben.api.get(BASE)).as(conversations);
      expect(top?.last_message_at).to.equal(sent.created_at);
    }
  });

  it('of a message may be given when its notification is read', async () => {
    const { ada, ben, id } = here();
    const answer = await ada.api.post(`${BASE}/${id}/messages`, { body: token(ben) });
    await eventually('the notification', async () => {
      const min = { 'x-min-position': answer.header('x-event-position') ?? '' };
      const found = (await ben.api.get(NOTIFICATIONS, { headers: min })).as(notifications);
      return found.length > 0;
    });
  });

  for (const given of ['x', '-1', '0', 'null', '"1"', 'zzzzzzzzzzzzzzzz', '1'.repeat(200), '1, 2']) {
    it(`that are malformed are 400 on every read: ${given.slice(0, 20)}`, async () => {
      const { ada, id } = here();
      for (const path of [
        BASE,
        `${BASE}/${id}/messages`,
        NOTIFICATIONS,
        `${NOTIFICATIONS}/unread-count`,
        USERS,
        '/api/v1/tenant/me',
      ]) {
        const answer = await ada.api.get(path, { headers: { 'x-min-position': given } });
        answer.as(validationFailed, 400);
      }
    });
  }

  it('after the end of the log are 503 read_model_behind after five seconds', async () => {
    const { ada } = here();
    const began = performance.now();
    const headers = { 'x-min-position': '00000000ffffffff' };
    const answer = await ada.api.get(BASE, { headers });
    expect([answer.status, answer.error]).to.deep.equal([503, 'read_model_behind']);
    expect(performance.now() - began).to.be.within(4000, await atPresentPace(8000));
  });
});
