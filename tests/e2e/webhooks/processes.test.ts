import { expect } from 'chai';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import { closeReceivers, holdAnswers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { deliveries, OPEN, ofStatus, paidTenant, subscribe, test, WEBHOOKS } from './support.ts';

/** Two processes on one data folder: one sends, and writes of both apply. */
describe('Webhooks of two processes', () => {
  let world: World;
  let other: Server;
  let tenant: TestTenant;

  before(async () => {
    const dataDir = await newDataFolder();
    other = await startServer({ dataDir, env: OPEN });
    world = await startWorld({ dataDir, env: OPEN });
    tenant = await paidTenant(world);
  });
  afterEach(closeReceivers);
  after(endWorld);

  it('send each delivery once, pause across processes, and share one limit', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const there = { ...tenant.admin, api: tenant.admin.api.at(other) };
    for (let i = 0; i < 10; i += 1) await test(i % 2 ? tenant.admin : there, hook.id);
    await ofStatus(tenant.admin, hook.id, 'delivered', 10);
    expect(new Set(receiver.received.map(({ envelope }) => envelope.id)).size).to.equal(10);
    expect(receiver.received).to.have.length(10);
    for (const at of [tenant.admin, there]) {
      const held = holdAnswers(receiver);
      for (let i = 0; i < 4; i += 1) await test(at, hook.id);
      await eventually('open calls', () => held.length >= 4);
      await at.api.patch(`${WEBHOOKS}/${hook.id}`, { state: 'paused' });
      // The change needs a moment to arrive at the process that sends.
      await new Promise((resolve) => setTimeout(resolve, 1000));
      for (const response of held) response.writeHead(500).end();
      await new Promise((resolve) => setTimeout(resolve, 400));
      expect(held, 'no retry').to.have.length(4);
      receiver.behave(() => 500);
      await at.api.patch(`${WEBHOOKS}/${hook.id}`, { state: 'active' });
      await eventually('their end', async () =>
        (await deliveries(tenant.admin, hook.id)).every(({ status }) => status !== 'pending'),
      );
    }
    const small = await paidTenant(world, 'pro');
    const both = [small.admin.api, small.admin.api.at(other)];
    const body = { url: receiver.url, events: '*' };
    // The other process learns of the new plan a moment later.
    await eventually('the plan', async () => (await both[1]?.post(WEBHOOKS, body))?.status === 201);
    const tries = Array.from({ length: 19 }, (_, i) => both[i % 2]?.post(WEBHOOKS, body));
    const statuses = (await Promise.all(tries)).map((answer) => answer?.status).sort();
    expect(statuses).to.deep.equal([...Array(4).fill(201), ...Array(15).fill(422)]);
  }).timeout(40_000);

  it('continue at the other when the sender is killed', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    await test(tenant.admin, hook.id);
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    await other.kill();
    for (let i = 0; i < 5; i += 1) await test(tenant.admin, hook.id);
    // The other takes over once the lease of the sender has expired.
    await eventually('all calls', () => receiver.received.length >= 6);
    await ofStatus(tenant.admin, hook.id, 'delivered', 6);
    expect(new Set(receiver.received.map(({ body }) => body.toString('hex'))).size).to.equal(6);
  }).timeout(40_000);
});
