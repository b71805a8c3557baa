import { expect } from 'chai';
import { findIn, findInText } from '../../support/files.ts';
import { eventually } from '../../support/server.ts';
import { closeReceivers, holdAnswers, startReceiver, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  addRecord,
  created,
  deliveries,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  readSubscription,
  subscribe,
  subscription,
  subscriptions,
  test,
  WEBHOOKS,
} from './support.ts';

const UNKNOWN = '0190a1b2-c3d4-7e5f-8a6b-7c8d9e0f1a2b';

describe('Webhook subscriptions', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld({ env: { ...OPEN, LOG_LEVEL: 'trace', WEBHOOK_SECRET_GRACE_HOURS: '0.0005' } });
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(closeReceivers);
  after(endWorld);

  const url = 'https://receiver.example.com/hook';

  it('are created by any person, read without their secret, changed and deleted', async () => {
    const operator = await tenant.person('Olga');
    const made = await subscribe(operator, url, {
      events: ['entity.created', 'job.transition', 'entity.created'],
      description: 'Größe',
    });
    expect(made).to.deep.include({
      url,
      events: ['entity.created', 'job.transition'],
      description: 'Größe',
      state: 'active',
      consecutive_dead_letters: 0,
      secret_rotated_at: null,
    });
    const { secret: _secret, ...shown } = made;
    expect(await readSubscription(tenant.admin, made.id)).to.deep.equal(shown);
    expect((await tenant.admin.api.get(WEBHOOKS)).as(subscriptions)).to.deep.include(shown);
    const path = `${WEBHOOKS}/${made.id}`;
    const changes = { url: `${url}2`, events: '*', description: 'Other', state: 'paused' };
    const changed = (await operator.api.patch(path, changes)).as(subscription);
    expect(changed).to.deep.include({ ...changes, events: ['*'], created_at: made.created_at });
    const again = await operator.api.patch(path, changes);
    expect(again.as(subscription), 'equal values change nothing').to.deep.equal(changed);
    expect((await operator.api.delete(path)).status).to.equal(204);
    for (const answer of [
      await operator.api.get(path),
      await operator.api.delete(path),
      await operator.api.patch(path, { state: 'active' }),
      await operator.api.post(`${path}/rotate-secret`),
      await operator.api.post(`${path}/test`),
      await operator.api.post(`${path}/replay-dlq`),
      await operator.api.get(`${path}/deliveries`),
      await operator.api.get(`${WEBHOOKS}/${UNKNOWN}`),
      await operator.api.get(`${WEBHOOKS}/no-id`),
      await operator.api.post(`${WEBHOOKS}/deliveries/${UNKNOWN}/replay`),
    ]) {
      expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
    }
  });

  it('are refused with an error for an invalid body, and with a reason for a forbidden URL', async () => {
    const { api } = tenant.admin;
    for (const body of [
      {},
      { url },
      { url, events: [] },
      { url, events: ['job.started'] },
      { url, events: ['webhook.test'] },
      { url, events: 'entity.created' },
      { url: 'no url', events: '*' },
      { url: 7, events: '*' },
      { url, events: '*', description: 'x'.repeat(1001) },
    ]) {
      const answer = await api.post(WEBHOOKS, body);
      expect([answer.status, answer.error], JSON.stringify(body)).to.deep.equal([400, 'validation_failed']);
    }
    const { id } = await subscribe(tenant.admin, url);
    for (const refused of [
      'http://10.0.0.1/',
      'https://169.254.169.254/',
      'https://user:pass@example.com/',
    ]) {
      for (const answer of [
        await api.post(WEBHOOKS, { url: refused, events: '*' }),
        await api.patch(`${WEBHOOKS}/${id}`, { url: refused }),
      ]) {
        expect([answer.status, answer.error], refused).to.deep.equal([422, 'url_refused']);
        expect(answer.json).to.have.nested.property('details.reason').that.matches(/\w/);
      }
    }
    expect((await readSubscription(tenant.admin, id)).url).to.equal(url);
  });

  it('are for paid plans, up to the plan’s limit of active ones, also under concurrency', async () => {
    for (const [plan, cap] of [
      ['free', 0],
      ['hobby', 1],
      ['pro', 5],
      ['business', 25],
    ] as const) {
      const own = await paidTenant(world, plan);
      const tries = Array.from({ length: cap + 4 }, () => own.admin.api.post(WEBHOOKS, { url, events: '*' }));
      const answers = await Promise.all(tries);
      expect(answers.filter(({ status }) => status === 201)).to.have.length(cap);
      const refusals = answers.filter(({ status }) => status !== 201);
      for (const { status, json } of refusals) {
        if (plan === 'free') {
          expect([status, json]).to.have.nested.property('1.error', 'plan_required');
          continue;
        }
        expect(status).to.equal(422);
        expect(json).to.deep.include({
          error: 'subscription_limit_reached',
          details: { limit: cap, active: cap },
        });
      }
      expect((await own.admin.api.get(WEBHOOKS)).as(subscriptions)).to.have.length(cap);
    }
  });

  it('do not count while paused, and cannot resume above the limit', async () => {
    const own = await paidTenant(world, 'hobby');
    const [one] = [await subscribe(own.admin, url)];
    await own.admin.api.patch(`${WEBHOOKS}/${one.id}`, { state: 'paused' });
    const two = await subscribe(own.admin, url);
    const back = await own.admin.api.patch(`${WEBHOOKS}/${one.id}`, { state: 'active' });
    expect([back.status, back.error]).to.deep.equal([422, 'subscription_limit_reached']);
    await own.admin.api.patch(`${WEBHOOKS}/${two.id}`, { state: 'paused' });
    const both = [one.id, two.id].map((id) => own.admin.api.patch(`${WEBHOOKS}/${id}`, { state: 'active' }));
    expect((await Promise.all(both)).map(({ status }) => status).sort()).to.deep.equal([200, 422]);
    await world.platform.patch(`/super/tenants/${own.id}`, { plan: 'free' });
    for (const id of [one.id, two.id]) {
      expect((await own.admin.api.patch(`${WEBHOOKS}/${id}`, { state: 'paused' })).status).to.equal(200);
    }
    const free = await own.admin.api.patch(`${WEBHOOKS}/${one.id}`, { state: 'active' });
    expect([free.status, free.error]).to.deep.equal([403, 'plan_required']);
  });

  it('show a secret once, also for a repeated keyed request', async () => {
    const options = { headers: { 'idempotency-key': 'one-hook' } };
    const first = await tenant.admin.api.post(WEBHOOKS, { url, events: '*' }, options);
    const { secret, ...rest } = first.as(created, 201);
    const again = await tenant.admin.api.post(WEBHOOKS, { url, events: '*' }, options);
    expect(again.json).to.deep.equal(rest);
    expect(again.text).not.to.contain(secret);
  });

  it('sign with both secrets for a while after a rotation, then with the new one only', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const path = `${WEBHOOKS}/${hook.id}/rotate-secret`;
    const rotated = (await tenant.admin.api.post(path)).as(created);
    expect(rotated.secret).not.to.equal(hook.secret);
    expect(rotated.secret_rotated_at).to.match(/Z$/);
    await test(tenant.admin, hook.id);
    const one = await eventually('the test', () => receiver.received[0]);
    expect(verifies(one, rotated.secret)).to.equal(true);
    expect(verifies(one, hook.secret)).to.equal(false);
    expect(verifies(one, hook.secret, 'x-service-signature-previous')).to.equal(true);
    await eventually('the grace to end', async () => {
      const sent = receiver.received.length;
      await test(tenant.admin, hook.id);
      const next = await eventually('a test', () => receiver.received[sent]);
      expect(verifies(next, rotated.secret)).to.equal(true);
      return next.headers['x-service-signature-previous'] === undefined;
    });
  });

  it('skip events while paused, and keep waiting deliveries', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url, { events: ['entity.created'] });
    const state = (wanted: string) =>
      tenant.admin.api
        .patch(`${WEBHOOKS}/${hook.id}`, { state: wanted })
        .then((answer) => answer.as(subscription));
    await state('paused');
    await addRecord(tenant.admin, 'crate', 'while paused');
    const refused = [
      await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/test`),
      await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/replay-dlq`),
    ];
    for (const answer of refused) {
      expect([answer.status, answer.error]).to.deep.equal([409, 'subscription_paused']);
    }
    await state('active');
    const held = holdAnswers(receiver);
    await addRecord(tenant.admin, 'crate', 'while active');
    await eventually('an attempt', () => held.length > 0);
    await state('paused');
    for (const response of held) response.writeHead(503).end();
    const waiting = await eventually('the end of the open call', async () => {
      const [one] = await deliveries(tenant.admin, hook.id);
      return one?.attempts === 1 && one;
    });
    expect(waiting.status).to.equal('pending');
    const replay = await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${waiting.id}/replay`);
    expect([replay.status, replay.error]).to.deep.equal([409, 'subscription_paused']);
    // A retry would come after 50 ms.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(held).to.have.length(1);
    receiver.behave(() => 200);
    await state('active');
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(await deliveries(tenant.admin, hook.id)).to.have.length(1);
    const titles = receiver.received.map(({ envelope }) => JSON.stringify(envelope.data.values));
    expect(new Set(titles)).to.deep.equal(new Set(['{"title":"while active"}']));
  });

  it('stop for good when deleted, with waiting deliveries', async () => {
    const receiver = await startReceiver();
    const held = holdAnswers(receiver);
    const hook = await subscribe(tenant.admin, receiver.url);
    for (let i = 0; i < 6; i += 1) await addRecord(tenant.admin, 'crate', `${i}`);
    await eventually('attempts', () => held.length > 3);
    const one = receiver.received[0]?.envelope.id;
    await tenant.admin.api.delete(`${WEBHOOKS}/${hook.id}`);
    const before = held.length;
    receiver.behave(() => 500);
    for (const response of held) response.writeHead(500).end();
    // Retries, and calls that waited for the open ones to end, would come within this time.
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(receiver.received.length).to.be.at.most(Math.max(before, 6));
    const replay = await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${one}/replay`);
    expect([replay.status, replay.error]).to.deep.equal([404, 'not_found']);
  });

  it('store and log no secret in the clear', async () => {
    const receiver = await startReceiver((_one, response) => {
      response.writeHead(500).end('no');
      return undefined;
    });
    const hook = await subscribe(tenant.admin, receiver.url);
    const options = { headers: { 'idempotency-key': 'rotated' } };
    const rotated = await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/rotate-secret`, undefined, options);
    await test(tenant.admin, hook.id);
    await ofStatus(tenant.admin, hook.id, 'dead', 1);
    const deleted = await subscribe(tenant.admin, receiver.url);
    await tenant.admin.api.delete(`${WEBHOOKS}/${deleted.id}`);
    const secrets = Object.fromEntries(
      [hook.secret, rotated.as(created).secret, deleted.secret].flatMap((secret, i) => [
        [`secret ${i}`, secret],
        [`its random part ${i}`, secret.slice('whsec_'.length)],
      ]),
    );
    expect(await findIn(world.server.dataDir, { known: hook.id })).not.to.deep.equal([]);
    expect(await findIn(world.server.dataDir, secrets)).to.deep.equal([]);
    expect(findInText(world.server.output(), secrets)).to.deep.equal([]);
  });
});
