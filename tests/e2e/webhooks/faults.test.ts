import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Receiver, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
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

describe('Webhooks and kill -9', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    const env = { ...OPEN, WEBHOOK_RETRY_SECONDS: '0.2,0.2,0.2,0.2', WEBHOOK_TIMEOUT_MS: '10000' };
    world = await startWorld({ env });
  });
  beforeEach(async () => {
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(closeReceivers);
  after(endWorld);

  const revive = async (): Promise<void> => {
    await world.server.kill();
    await world.restart();
    await world.ready();
  };

  /** Body of each delivery by the delivery's id; checks that all calls of a delivery had the same body. */
  const bodiesOf = (receiver: Receiver): Map<string, string> => {
    const bodies = new Map<string, string>();
    for (const { envelope, body, headers } of receiver.received) {
      expect(headers['x-service-delivery']).to.equal(envelope.id);
      const text = body.toString('utf8');
      expect(bodies.get(envelope.id) ?? text, 'one id, one body').to.equal(text);
      bodies.set(envelope.id, text);
    }
    return bodies;
  };

  it('keep the schedule: a retry due while the server was down is made, with the next number', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url);
    const id = await test(tenant.admin, hook.id);
    for (const attempt of [1, 3]) {
      await eventually('an attempt', async () => {
        const [one] = await deliveries(tenant.admin, hook.id);
        return (one?.attempts ?? 0) >= attempt;
      });
      await revive();
    }
    const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1, 15_000);
    expect(dead).to.deep.include({ id, attempts: 5 });
    const numbers = new Set(receiver.received.map(({ headers }) => headers['x-service-attempt']));
    expect([...numbers]).to.deep.equal(['1', '2', '3', '4', '5']);
    expect(bodiesOf(receiver).size).to.equal(1);
  }).timeout(90_000);

  it('repeat an interrupted attempt with the same number', async () => {
    const receiver = await startReceiver(() => undefined);
    const hook = await subscribe(tenant.admin, receiver.url);
    const id = await test(tenant.admin, hook.id);
    await eventually('the call', () => receiver.received.length === 1);
    await world.server.kill();
    receiver.behave(() => 200);
    await world.restart();
    await world.ready();
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(receiver.received.map(({ headers }) => headers['x-service-attempt'])).to.deep.equal(['1', '1']);
    expect([...bodiesOf(receiver).keys()]).to.deep.equal([id]);
  }).timeout(40_000);

  it('let open calls end when the server stops, and abort slow ones', async () => {
    const receiver = await startReceiver((one, response) => {
      if (one.path === '/hook?silent') return undefined;
      setTimeout(() => response.writeHead(200).end(), 700);
      return undefined;
    });
    const slow = await subscribe(tenant.admin, `${receiver.url}?slow`);
    const silent = await subscribe(tenant.admin, `${receiver.url}?silent`);
    await Promise.all([test(tenant.admin, slow.id), test(tenant.admin, silent.id)]);
    await eventually('both calls', () => receiver.received.length === 2);
    const started = Date.now();
    expect(await world.server.stop()).to.deep.equal({ code: 0, signal: null });
    expect(Date.now() - started).to.be.below(await atPresentPace(8000));
    receiver.behave(() => 200);
    await world.restart();
    await world.ready();
    await ofStatus(tenant.admin, silent.id, 'delivered', 1);
    await ofStatus(tenant.admin, slow.id, 'delivered', 1);
    expect(receiver.at('/hook?slow'), 'answered in time, and recorded').to.have.length(1);
    const numbers = receiver.at('/hook?silent').map(({ headers }) => headers['x-service-attempt']);
    expect(numbers).to.deep.equal(['1', '1']);
  }).timeout(40_000);

  it('resume an interrupted replay of dead letters in order', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url);
    for (let i = 0; i < 8; i += 1) await test(tenant.admin, hook.id);
    const dead = await ofStatus(tenant.admin, hook.id, 'dead', 8, 20_000);
    receiver.received.length = 0;
    receiver.behave((_one, response) => {
      setTimeout(() => response.writeHead(200).end(), 60);
      return undefined;
    });
    const answer = await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/replay-dlq`);
    expect(answer.json).to.deep.equal({ replayed: 8 });
    for (const calls of [1, 4]) {
      await eventually('calls', () => receiver.received.length >= calls);
      await revive();
    }
    await ofStatus(tenant.admin, hook.id, 'delivered', 8, 20_000);
    const order = receiver.received.map(({ envelope }) => envelope.id);
    const once = order.filter((id, index) => order.indexOf(id) === index);
    expect(once).to.have.length(8);
    expect(once).to.have.members(dead.map(({ id }) => id));
    expect(
      order.filter((id, index) => id !== order[index - 1]),
      'repeated at once or not at all',
    ).to.deep.equal(once);
    expect(order.length).to.be.at.most(10);
  }).timeout(90_000);

  it('are independent: dead and slow endpoints delay no others', async () => {
    const live = await startReceiver();
    const silent = await startReceiver(() => undefined);
    const other = await paidTenant(world);
    await plainEntity(other, 'crate');
    for (let i = 0; i < 12; i += 1) await subscribe(tenant.admin, `${silent.url}?${i}`);
    const mine = await subscribe(tenant.admin, `${live.url}?mine`);
    await subscribe(other.admin, `${live.url}?other`);
    for (let i = 0; i < 15; i += 1) await addRecord(tenant.admin, 'crate', `${i}`);
    await eventually('calls that hang', () => silent.received.length >= 30, 10_000);
    for (let i = 0; i < 10; i += 1) {
      const started = Date.now();
      const id = await addRecord(other.admin, 'crate', 'another tenant’s');
      await eventually('the call', () =>
        live.at('/hook?other').some(({ envelope }) => envelope.data.entity_id === id),
      );
      expect(Date.now() - started).to.be.below(await atPresentPace(5000));
    }
    await ofStatus(tenant.admin, mine.id, 'delivered', 15);
  }).timeout(60_000);
});
