import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Received, startReceiver, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { defineEntity, ENTITIES, JOBS, move, startJob } from '../workflow/support.ts';
import {
  addRecord,
  deliveries,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  subscribe,
  test,
  WEBHOOKS,
} from './support.ts';

const FORMS = '/api/v1/tenant/forms';

describe('Webhook deliveries', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
    await defineEntity(tenant, 'expense');
  });
  afterEach(async () => {
    const list = (await tenant.admin.api.get(`${WEBHOOKS}?limit=200`)).json;
    for (const { id } of list as { id: string }[]) await tenant.admin.api.delete(`${WEBHOOKS}/${id}`);
    await closeReceivers();
  });
  after(endWorld);

  const first = async (receiver: { received: Received[] }, count = 1): Promise<Received> => {
    await eventually(`${count} requests`, () => receiver.received.length >= count);
    const [one] = receiver.received;
    if (one === undefined) throw new Error('nothing came');
    return one;
  };

  it('carry the headers and the signature of the specification', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const before = Math.floor(Date.now() / 1000);
    const recordId = await addRecord(tenant.admin, 'crate', 'Größe 😀 "quoted"\n');
    const one = await first(receiver);
    expect(one.method).to.equal('POST');
    const { headers, envelope, body } = one;
    expect(headers['content-type']).to.equal('application/json');
    expect(headers['user-agent']).to.equal('Service-Webhooks/1.0');
    expect(headers['x-service-event']).to.equal('entity.created');
    expect(headers['x-service-delivery']).to.equal(envelope.id);
    expect(headers['x-service-attempt']).to.equal('1');
    expect(Number(headers['x-service-timestamp'])).to.be.within(before, Math.ceil(Date.now() / 1000));
    expect(headers['x-service-signature-previous']).to.equal(undefined);
    expect(verifies(one, hook.secret)).to.equal(true);
    expect(verifies({ ...one, body: Buffer.concat([body, Buffer.from(' ')]) }, hook.secret)).to.equal(false);
    expect(envelope).to.deep.include({ event: 'entity.created', tenant_id: tenant.id });
    expect(envelope.data).to.deep.equal({
      entity_name: 'crate',
      entity_id: recordId,
      values: { title: 'Größe 😀 "quoted"\n' },
      version: 1,
    });
    const [listed] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(listed).to.deep.include({
      id: envelope.id,
      event: 'entity.created',
      attempts: 1,
      response_code: 204,
    });
    expect([listed?.last_error, listed?.next_attempt_at]).to.deep.equal([null, null]);
  });

  it('announce events of records and jobs, but only the subscribed ones', async () => {
    const receiver = await startReceiver();
    const all = await subscribe(tenant.admin, `${receiver.url}?all`, { events: '*' });
    await subscribe(tenant.admin, `${receiver.url}?jobs`, { events: ['job.transition'] });
    const job = await startJob(tenant.admin, 'expense');
    await move(tenant.admin, job, 'submit');
    await tenant.admin.api.post(`${JOBS}/${job}/override`, { to_state: 'draft', reason: 'A mistake.' });
    const path = `${ENTITIES}/expense/records/${job}`;
    await tenant.admin.api.patch(path, { values: { title: 'Plane' } });
    await tenant.admin.api.delete(path);
    await ofStatus(tenant.admin, all.id, 'delivered', 5);
    const actor = { kind: 'user', id: tenant.admin.id };
    const of = { job_id: job, entity_name: 'expense', entity_id: job };
    const entity = { entity_name: 'expense', entity_id: job };
    const wanted: Record<string, unknown> = {
      'entity.created': { ...entity, values: { title: 'Train', amount: 50 }, version: 1 },
      'job.transition': { ...of, from_state: 'draft', to_state: 'submitted', event_name: 'submit', actor },
      'job.admin_override': {
        ...of,
        from_state: 'submitted',
        to_state: 'draft',
        event_name: 'admin_override',
        actor,
        reason: 'A mistake.',
      },
      'entity.updated': {
        ...entity,
        values: { title: 'Plane', amount: 50 },
        changed: ['title'],
        version: 4,
      },
      'entity.deleted': { ...entity, values: { title: 'Plane', amount: 50 }, version: 4 },
    };
    const got = receiver.at('/hook?all').map(({ envelope }) => [envelope.event, envelope.data]);
    expect(Object.fromEntries(got)).to.deep.equal(wanted);
    expect(got).to.have.length(5);
    await eventually('the transition', () => receiver.at('/hook?jobs').length === 1);
    expect(receiver.at('/hook?jobs')[0]?.envelope.event).to.equal('job.transition');
    const ids = receiver.received.map(({ envelope }) => envelope.id);
    expect(new Set(ids).size, 'each delivery has an id of its own').to.equal(6);
  });

  it('announce form submissions, once for the submission and once for its record', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const fields = [{ field_key: 'title', label: 'Title', required: true }];
    const form = { slug: 'tell-us', title: 'Tell us', entity_name: 'crate', fields };
    const made = await tenant.admin.api.post(FORMS, form);
    const { id } = made.as(z.looseObject({ id: z.string() }), 201);
    expect((await tenant.admin.api.post(`${FORMS}/${id}/publish`)).status).to.equal(200);
    const path = `/api/v1/public/forms/${tenant.id}/tell-us/submissions`;
    const sent = await world.anybody.post(path, { values: { title: 'Hello' }, submission_id: 'one' });
    expect(sent.status).to.equal(201);
    await ofStatus(tenant.admin, hook.id, 'delivered', 2);
    const told = receiver.received.find(({ envelope }) => envelope.event === 'form.submitted');
    const record = receiver.received.find(({ envelope }) => envelope.event === 'entity.created');
    expect(told?.envelope.data).to.deep.equal({
      form_id: id,
      submission_id: 'one',
      entity_name: 'crate',
      entity_id: record?.envelope.data.entity_id,
      values: { title: 'Hello' },
    });
  });

  it('are attempted five times under one id with one body, then dead-lettered', async () => {
    const receiver = await startReceiver((_one, response) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(`broken ${'x'.repeat(40_000)}`);
      return undefined;
    });
    const hook = await subscribe(tenant.admin, receiver.url);
    await addRecord(tenant.admin, 'crate', 'a');
    const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(dead).to.deep.include({ attempts: 5, response_code: 500, next_attempt_at: null });
    expect(dead?.last_error)
      .to.match(/^HTTP 500: broken x+$/)
      .and.to.have.length(500);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const { received } = receiver;
    expect(received.map(({ headers }) => headers['x-service-attempt'])).to.deep.equal([
      '1',
      '2',
      '3',
      '4',
      '5',
    ]);
    expect(new Set(received.map(({ body }) => body.toString('hex'))).size).to.equal(1);
    expect(new Set(received.map(({ headers }) => headers['x-service-delivery'])).size).to.equal(1);
    expect(received.every((one) => verifies(one, hook.secret))).to.equal(true);
    received.forEach((one, index) => {
      const before = received[index - 1];
      if (before !== undefined) expect(one.at - before.at).to.be.at.least(50);
    });
  });

  it('never follow a redirect, and count a redirect as a failure', async () => {
    const receiver = await startReceiver((one, response) => {
      if (one.path !== '/hook') return 204;
      response.writeHead(307, { location: receiver.url.replace('/hook', '/elsewhere') }).end();
      return undefined;
    });
    const hook = await subscribe(tenant.admin, receiver.url);
    await test(tenant.admin, hook.id);
    const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(dead).to.deep.include({ response_code: 307, attempts: 5 });
    expect(receiver.at('/elsewhere')).to.deep.equal([]);
  });

  it('send the fixed test event on request', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url, { events: ['job.transition'] });
    const id = await test(tenant.admin, hook.id);
    const one = await first(receiver);
    expect(one.envelope).to.deep.include({
      id,
      event: 'webhook.test',
      data: { message: 'This is a test delivery.' },
    });
    expect(verifies(one, hook.secret)).to.equal(true);
  });

  it('carry a record of nearly maximum event size', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    // The record's event stores each of these characters as two; a body stored within another event would need four.
    const text = '"\\'.repeat(49_000);
    const values = { title: 'Large', text, more: text, noise: randomBytes(60_000).toString('base64') };
    const made = await tenant.admin.api.post(`${ENTITIES}/crate/records`, { values });
    expect(made.status).to.equal(201);
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    const one = await first(receiver);
    expect(one.envelope.data.values).to.deep.equal(values);
    expect(verifies(one, hook.secret)).to.equal(true);
  });

  it('end as failed when the guard now refuses the URL', async () => {
    const closed = await startWorld({ env: OPEN });
    const away = await paidTenant(closed);
    const receiver = await startReceiver();
    const names = await subscribe(away.admin, receiver.url);
    await closed.server.stop();
    await closed.restart({ WEBHOOK_ALLOWED_NETWORKS: '', WEBHOOK_ALLOW_HTTP: '' });
    await closed.ready();
    for (let times = 0; times < 11; times += 1) await test(away.admin, names.id);
    const failed = await ofStatus(away.admin, names.id, 'failed', 11);
    for (const one of failed) {
      expect(one).to.deep.include({ response_code: null, next_attempt_at: null, attempts: 1 });
      expect(one.last_error).to.match(/\w/);
    }
    const now = (await away.admin.api.get(`${WEBHOOKS}/${names.id}`)).json;
    expect(now, 'refusals pause nothing').to.deep.include({ state: 'active', consecutive_dead_letters: 0 });
    expect(receiver.received).to.deep.equal([]);
  }).timeout(60_000);

  it('are listed newest first, in pages', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const made: string[] = [];
    for (let i = 0; i < 5; i += 1) made.push(await test(tenant.admin, hook.id));
    const path = `${WEBHOOKS}/${hook.id}/deliveries?limit=2`;
    const page = await tenant.admin.api.get(path);
    expect(page.json).to.have.length(2);
    expect(page.header('link')).to.contain('rel="next"');
    const listed = await deliveries(tenant.admin, hook.id);
    expect(new Set(listed.map(({ id }) => id))).to.deep.equal(new Set(made));
    const times = listed.map(({ created_at }) => created_at);
    expect(times).to.deep.equal([...times].sort().reverse());
  });
});
