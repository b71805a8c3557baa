import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { freezeOutsideTransactions } from '../../support/freeze.ts';
import {
  closeRawReceivers,
  secureEnvironment,
  startMuteListener,
  startSecureReceiver,
} from '../../support/https-receiver.ts';
import { eventually, newDataFolder, type Server, startServer } from '../../support/server.ts';
import {
  closeReceivers,
  type Received,
  type Receiver,
  startReceiver,
  verifies,
} from '../../support/webhook-receiver.ts';
import { endWorld, type Member, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  addRecord,
  deliveries,
  OPEN,
  ofStatus,
  paidTenant,
  plainEntity,
  subscribe,
  test,
} from './support.ts';

type Hook = Awaited<ReturnType<typeof subscribe>>;

const withCrates = async (world: World): Promise<TestTenant> => {
  const tenant = await paidTenant(world);
  await plainEntity(tenant, 'crate');
  return tenant;
};

const numbers = (received: readonly Received[]) =>
  received.map(({ headers }) => headers['x-service-attempt']);

/** Deliveries at different steps are hit by one kill each; each test checks those of one step after the restart. */
describe('A webhook delivery whose server is killed', () => {
  interface Sent {
    readonly receiver: Receiver;
    readonly hook: Hook;
    readonly id: string;
  }
  let world: World;
  let admin: Member;
  let stored: { readonly receiver: Receiver; readonly hook: Hook; readonly records: string[] };
  let claimed: Sent;
  let unanswered: Sent;
  let halfAnswered: Sent;
  let answered: Omit<Sent, 'id'>;

  const revive = async (): Promise<void> => {
    await world.server.kill();
    await world.restart({ ROLE: 'all' });
    await world.ready();
  };
  const sentTo = async (receiver: Receiver): Promise<Sent> => {
    const hook = await subscribe(admin, receiver.url);
    const id = await test(admin, hook.id);
    await eventually('the call', () => receiver.received.length === 1);
    return { receiver, hook, id };
  };

  before(async () => {
    const env = { ...(await secureEnvironment()), WEBHOOK_TIMEOUT_MS: '60000' };
    // A process that stores events but creates no deliveries.
    world = await startWorld({ env: { ...env, ROLE: 'api' } });
    ({ admin } = await withCrates(world));
    const early = await startSecureReceiver();
    stored = { receiver: early, hook: await subscribe(admin, early.url), records: [] };
    for (let nth = 0; nth < 5; nth += 1) stored.records.push(await addRecord(admin, 'crate', `${nth}`));
    await revive();
    await ofStatus(admin, stored.hook.id, 'delivered', 5, 15_000);

    const connected = Promise.withResolvers<void>();
    const port = await startMuteListener(() => connected.resolve());
    const hook = await subscribe(admin, `https://127.0.0.1:${port}/hook`);
    const id = await test(admin, hook.id);
    // The server has connected, but the TLS handshake never ends, so nothing is sent.
    await connected.promise;

    unanswered = await sentTo(await startSecureReceiver(() => undefined));
    const partSent = Promise.withResolvers<void>();
    const begun = await startSecureReceiver((_one, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('the first part', () => partSent.resolve());
      return undefined;
    });
    halfAnswered = await sentTo(begun);
    // The server reads this part of the body before it answers later requests, and records nothing until the body ends.
    await partSent.promise;
    await world.ready();

    const { server } = world;
    const deadly = await startSecureReceiver((_one, response) => {
      response.writeHead(204).end(() => setImmediate(() => server.signal('SIGKILL')));
      return undefined;
    });
    answered = { receiver: deadly, hook: await subscribe(admin, deadly.url) };
    // The answer may be lost with the process.
    await test(admin, answered.hook.id).catch(() => undefined);
    await server.exited;
    await closeRawReceivers();
    claimed = { receiver: await startSecureReceiver(() => 200, { port }), hook, id };
    for (const { receiver } of [unanswered, halfAnswered, answered]) receiver.behave(() => 200);
    await revive();
  });
  after(async () => {
    await endWorld();
    await Promise.all([closeReceivers(), closeRawReceivers()]);
  });

  it('after the event is stored and before the delivery exists: is made and sent once', () => {
    const told = stored.receiver.received.map(({ envelope }) => envelope.data.entity_id);
    expect(told.sort()).to.deep.equal(stored.records.toSorted());
  });

  it('between claim and send: is sent, as the first attempt', async () => {
    const { receiver, hook, id } = claimed;
    const [done] = await ofStatus(admin, hook.id, 'delivered', 1, 15_000);
    expect(done).to.deep.include({ id, attempts: 1 });
    expect(numbers(receiver.received)).to.deep.equal(['1']);
  }).timeout(60_000);

  it('after the send and before the answer, and after a 2xx and before it is recorded: is sent again unchanged', async () => {
    for (const { receiver, hook, id } of [unanswered, halfAnswered]) {
      const [done] = await ofStatus(admin, hook.id, 'delivered', 1, 15_000);
      expect(done).to.deep.include({ id, attempts: 1, response_code: 200 });
      expect(numbers(receiver.received)).to.deep.equal(['1', '1']);
      const [one, other] = receiver.received;
      expect(one?.body.equals(other?.body ?? Buffer.alloc(0))).to.equal(true);
      expect(receiver.received.every((each) => verifies(each, hook.secret))).to.equal(true);
    }
  }).timeout(60_000);

  it('once its answer has gone out: is delivered, at most twice, under one id', async () => {
    const { receiver, hook } = answered;
    await ofStatus(admin, hook.id, 'delivered', 1, 15_000);
    expect(receiver.received.length).to.be.within(1, 2);
    expect(new Set(receiver.received.map(({ envelope }) => envelope.id)).size).to.equal(1);
  }).timeout(60_000);
});

describe('Webhook deliveries of a busy server that is killed', () => {
  after(endWorld);
  afterEach(closeReceivers);

  it('with half of a batch recorded: are all made; each kill repeats at most sixteen per subscription', async () => {
    const COUNT = 60;
    const KILLS = [1, 40];
    const world = await startWorld({ env: { ...OPEN, WEBHOOK_TIMEOUT_MS: '60000' } });
    const tenant = await withCrates(world);
    // Answers nothing until all deliveries exist.
    const held: ServerResponse[] = [];
    let arrivals = 0;
    let deadly = Number.POSITIVE_INFINITY;
    let isOpen = false;
    const behave = (_one: Received, response: ServerResponse): number | undefined => {
      arrivals += 1;
      // Never answers this call, so that at least one delivery is not recorded.
      if (arrivals === deadly) {
        isOpen = false;
        world.server.signal('SIGKILL');
        return undefined;
      }
      if (isOpen) return 204;
      held.push(response);
      return undefined;
    };
    const receivers = [await startReceiver(behave), await startReceiver(behave)];
    const hooks = await Promise.all(receivers.map(({ url }) => subscribe(tenant.admin, url)));
    const records = Array.from({ length: COUNT }, (_, nth) => addRecord(tenant.admin, 'crate', `${nth}`));
    await Promise.all(records);
    for (const hook of hooks) await ofStatus(tenant.admin, hook.id, 'pending', COUNT, 30_000);
    const letGo = (): void => {
      isOpen = true;
      for (const response of held.splice(0)) response.writeHead(204).end();
    };
    for (const nth of KILLS) {
      const { server } = world;
      deadly = arrivals + nth;
      letGo();
      await server.exited;
      held.length = 0;
      await world.restart();
      await world.ready();
    }
    letGo();
    for (const hook of hooks) await ofStatus(tenant.admin, hook.id, 'delivered', COUNT, 30_000);
    let repeated = 0;
    for (const { received } of receivers) {
      const byId = Map.groupBy(received, ({ envelope }) => envelope.id);
      expect(byId.size).to.equal(COUNT);
      expect(received.length - COUNT, 'sent twice').to.be.at.most(16 * KILLS.length);
      repeated += received.length - COUNT;
      for (const [first, ...others] of byId.values()) {
        expect(first?.headers['x-service-attempt']).to.equal('1');
        for (const other of others) {
          expect(other.headers['x-service-attempt']).to.equal('1');
          expect(other.body.equals(first?.body ?? Buffer.alloc(0))).to.equal(true);
        }
      }
    }
    expect(repeated, 'what was cut off is sent again').to.be.at.least(KILLS.length);
  }).timeout(120_000);
});

describe('A webhook delivery of two nodes', () => {
  after(endWorld);
  afterEach(closeReceivers);

  it('is recorded once when its node was frozen and another has sent it', async () => {
    const env = { ...(await secureEnvironment()), WEBHOOK_TIMEOUT_MS: '60000' };
    const dataDir = await newDataFolder();
    // The node that starts first holds the lease.
    const frozen: Server = await startServer({ dataDir, env });
    const world = await startWorld({ dataDir, env });
    const tenant = await paidTenant(world);
    const late: (() => void)[] = [];
    const receiver = await startSecureReceiver((_one, response) => {
      late.push(() => response.writeHead(500).end());
      return undefined;
    });
    const hook = await subscribe(tenant.admin, receiver.url);
    const id = await test(tenant.admin, hook.id);
    await eventually('the call', () => receiver.received.length === 1, 15_000);
    await freezeOutsideTransactions(frozen);
    receiver.behave(() => 200);
    const [done] = await ofStatus(tenant.admin, hook.id, 'delivered', 1, 30_000);
    expect(done).to.deep.include({ id, attempts: 1, response_code: 200 });
    late[0]?.();
    frozen.signal('SIGCONT');
    // The node has received the 500 and lost its lease; it handles both before it answers this request.
    await eventually('the other', async () => (await fetch(`${frozen.base}/health/ready`)).ok, 15_000);
    const there = { ...tenant.admin, api: tenant.admin.api.at(frozen) };
    const next = await test(there, hook.id);
    const found = await ofStatus(tenant.admin, hook.id, 'delivered', 2, 30_000);
    expect(found.map((each) => each.id)).to.have.members([id, next]);
    expect(found.every(({ attempts }) => attempts === 1)).to.equal(true);
    expect((await deliveries(there, hook.id)).map(({ status }) => status)).to.deep.equal([
      'delivered',
      'delivered',
    ]);
    expect(receiver.received.filter(({ envelope }) => envelope.id === id)).to.have.length(2);
  }).timeout(90_000);
});
