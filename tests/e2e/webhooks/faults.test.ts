import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Receiver, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, type Member, restartEnded, startWorld, type World } from '../../support/world.ts';
import { addRecord, OPEN, ofStatus, paidTenant, plainEntity, subscribe, test, WEBHOOKS } from './support.ts';

const BRIEF = { ...OPEN, WEBHOOK_RETRY_SECONDS: '0.2,0.2,0.2,0.2', WEBHOOK_TIMEOUT_MS: '10000' };
const DEAD = 8;

interface Subscribed {
  readonly receiver: Receiver;
  readonly hook: Awaited<ReturnType<typeof subscribe>>;
}

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
const numbersOf = (receiver: Receiver) =>
  receiver.received.map(({ headers }) => headers['x-service-attempt']);

describe('Webhooks and kill -9', () => {
  let world: World;
  let admin: Member;
  let failing: Subscribed;
  let interrupted: Subscribed & { readonly id: string };
  let replayed: Subscribed & { readonly dead: readonly string[] };

  // Two kills hit three subscriptions. Three of the tests check one of them each, after the second restart.
  before(async () => {
    world = await startWorld({ env: BRIEF });
    ({ admin } = await paidTenant(world));
    const to = async (receiver: Receiver): Promise<Subscribed> => ({
      receiver,
      hook: await subscribe(admin, receiver.url),
    });
    const calls = ({ receiver }: Subscribed, count: number) =>
      eventually(`${count} calls`, () => receiver.received.length >= count);
    const revive = async (): Promise<void> => {
      await world.server.kill();
      for (const response of held.splice(0)) response.destroy();
      await world.restart();
      await world.ready();
    };

    const letters = await to(await startReceiver(() => 500));
    for (let i = 0; i < DEAD; i += 1) await test(admin, letters.hook.id);
    await calls(letters, DEAD * 5);
    const dead = await ofStatus(admin, letters.hook.id, 'dead', DEAD, 20_000);
    replayed = { ...letters, dead: dead.map(({ id }) => id) };
    letters.receiver.received.length = 0;
    // Leaves the first and the fourth call without an answer: at these the server is killed.
    const held: ServerResponse[] = [];
    letters.receiver.behave((_one, response) => {
      if (![1, 5].includes(letters.receiver.received.length)) return 200;
      held.push(response);
      return undefined;
    });

    const silent = await to(await startReceiver(() => undefined));
    interrupted = { ...silent, id: await test(admin, silent.hook.id) };
    await calls(silent, 1);
    const answer = await admin.api.post(`${WEBHOOKS}/${letters.hook.id}/replay-dlq`);
    expect(answer.json).to.deep.equal({ replayed: DEAD });
    await calls(letters, 1);
    failing = await to(await startReceiver(() => 500));
    await test(admin, failing.hook.id);
    await calls(failing, 1);
    silent.receiver.behave(() => 200);
    await revive();
    await calls(failing, 3);
    await calls(letters, 5);
    await revive();
  });
  beforeEach(() => restartEnded(world));
  after(async () => {
    await endWorld();
    await closeReceivers();
  });

  it('keep the schedule: a retry due while the server was down is made, with the next number', async () => {
    const { receiver, hook } = failing;
    const [dead] = await ofStatus(admin, hook.id, 'dead', 1, 15_000);
    expect(dead).to.deep.include({ attempts: 5 });
    expect([...new Set(numbersOf(receiver))]).to.deep.equal(['1', '2', '3', '4', '5']);
    expect([...bodiesOf(receiver).keys()]).to.deep.equal([dead?.id]);
  }).timeout(90_000);

  it('repeat an interrupted attempt with the same number', async () => {
    const { receiver, hook, id } = interrupted;
    await ofStatus(admin, hook.id, 'delivered', 1);
    expect(numbersOf(receiver)).to.deep.equal(['1', '1']);
    expect([...bodiesOf(receiver).keys()]).to.deep.equal([id]);
  }).timeout(40_000);

  it('resume an interrupted replay of dead letters in order', async () => {
    const { receiver, hook, dead } = replayed;
    await ofStatus(admin, hook.id, 'delivered', DEAD, 20_000);
    const order = receiver.received.map(({ envelope }) => envelope.id);
    const once = order.filter((id, index) => order.indexOf(id) === index);
    expect(once).to.have.length(DEAD);
    expect(once).to.have.members(dead);
    expect(
      order.filter((id, index) => id !== order[index - 1]),
      'repeated at once or not at all',
    ).to.deep.equal(once);
    expect(order.length).to.be.at.most(DEAD + 2);
  }).timeout(90_000);

  it('let open calls end when the server stops, and abort slow ones', async () => {
    const tenant = await paidTenant(world);
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

  it('are independent: dead and slow endpoints delay no others', async () => {
    const live = await startReceiver();
    const silent = await startReceiver(() => undefined);
    const tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
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
