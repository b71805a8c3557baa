import { expect } from 'chai';
import { z } from 'zod';
import { atPresentPace } from '../../support/pace.ts';
import { eventually } from '../../support/server.ts';
import { closeReceivers, type Receiver, startReceiver, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  created,
  type Delivery,
  deliveries,
  OPEN,
  ofStatus,
  paidTenant,
  readSubscription,
  subscribe,
  test,
  WEBHOOKS,
} from './support.ts';

describe('Dead letters', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await paidTenant(world);
  });
  afterEach(closeReceivers);
  after(endWorld);

  const replay = async (id: string): Promise<void> => {
    const answer = await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${id}/replay`);
    expect(answer.as(z.strictObject({ delivery_id: z.string() }), 202).delivery_id).to.equal(id);
  };
  const replayAll = async (id: string): Promise<number> => {
    const answer = await tenant.admin.api.post(`${WEBHOOKS}/${id}/replay-dlq`);
    return answer.as(z.strictObject({ replayed: z.int() }), 202).replayed;
  };
  const of = (receiver: Receiver, id: string) =>
    receiver.received.filter(({ envelope }) => envelope.id === id);
  /** Waits at the receiver, which costs nothing, before asking the server. */
  const attempted = (receiver: Receiver, id: string, times: number) =>
    eventually(`attempt ${times}`, () => of(receiver, id).length === times);
  /** Makes dead letters. @param before number of earlier ones @returns new and earlier ones, oldest first */
  const deadOnes = async (
    receiver: Receiver,
    hookId: string,
    count: number,
    before = 0,
  ): Promise<Delivery[]> => {
    for (let made = 1; made <= count; made += 1) {
      await attempted(receiver, await test(tenant.admin, hookId), 5);
      await ofStatus(tenant.admin, hookId, 'dead', before + made);
    }
    return (await ofStatus(tenant.admin, hookId, 'dead', before + count)).reverse();
  };

  it('are replayed one by one: the same bytes, the present secret, the next number', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url);
    const [one] = await deadOnes(receiver, hook.id, 1);
    if (one === undefined) throw new Error('none');
    const path = `${WEBHOOKS}/${hook.id}/rotate-secret`;
    const { secret } = (await tenant.admin.api.post(path)).as(created);
    await replay(one.id);
    await attempted(receiver, one.id, 6);
    const [failed] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(failed, 'one attempt and no more').to.deep.include({ attempts: 6, status: 'dead' });
    receiver.behave(() => 202);
    await replay(one.id);
    const [done] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(done).to.deep.include({ id: one.id, attempts: 7, response_code: 202 });
    await replay(one.id);
    await attempted(receiver, one.id, 8);
    const all = of(receiver, one.id);
    expect(all.map(({ headers }) => headers['x-service-attempt'])).to.deep.equal([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
    ]);
    expect(new Set(all.map(({ body }) => body.toString('hex'))).size).to.equal(1);
    for (const each of all.slice(5)) expect(verifies(each, secret)).to.equal(true);
    for (const each of all.slice(0, 5)) expect(verifies(each, hook.secret)).to.equal(true);
  });

  it('are replayed in order, each once; those that fail again go to the back of the dead-letter log', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url);
    const dead = await deadOnes(receiver, hook.id, 4);
    const [a, b, c, d] = dead.map(({ id }) => id);
    receiver.received.length = 0;
    receiver.behave((one) => (one.envelope.id === b ? 500 : 200));
    expect(await replayAll(hook.id)).to.equal(4);
    await ofStatus(tenant.admin, hook.id, 'delivered', 3);
    await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(receiver.received.map(({ envelope }) => envelope.id)).to.deep.equal([a, b, c, d]);
    receiver.behave(() => 500);
    const later = await test(tenant.admin, hook.id);
    await attempted(receiver, later, 5);
    await ofStatus(tenant.admin, hook.id, 'dead', 2);
    // `b` failed again before `later` did, so `b` comes first in the dead-letter log.
    receiver.received.length = 0;
    expect(await replayAll(hook.id)).to.equal(2);
    await eventually('both', () => receiver.received.length === 2);
    await ofStatus(tenant.admin, hook.id, 'dead', 2);
    expect(receiver.received.map(({ envelope }) => envelope.id)).to.deep.equal([b, later]);
    await replay(b ?? '');
    await eventually('three', () => receiver.received.length === 3);
    await ofStatus(tenant.admin, hook.id, 'dead', 2);
    receiver.received.length = 0;
    receiver.behave(() => 204);
    expect(await replayAll(hook.id)).to.equal(2);
    await ofStatus(tenant.admin, hook.id, 'delivered', 5);
    expect(receiver.received.map(({ envelope }) => envelope.id)).to.deep.equal([later, b]);
    expect(await replayAll(hook.id), 'the log is empty').to.equal(0);
  }).timeout(30_000);

  it('pause the subscription at the tenth distinct one, and a success restarts the count', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url);
    const count = async (wanted: number) => {
      await eventually(`${wanted} counted`, async () => {
        const now = await readSubscription(tenant.admin, hook.id);
        return now.consecutive_dead_letters === wanted ? now : undefined;
      });
    };
    const [first] = await deadOnes(receiver, hook.id, 9);
    await count(9);
    for (let times = 0; times < 3; times += 1) {
      await replay(first?.id ?? '');
      await attempted(receiver, first?.id ?? '', 6 + times);
    }
    await ofStatus(tenant.admin, hook.id, 'dead', 9);
    await count(9);
    receiver.behave(() => 200);
    await replay(first?.id ?? '');
    await count(0);
    receiver.behave(() => 500);
    await deadOnes(receiver, hook.id, 9, 8);
    await count(9);
    expect((await readSubscription(tenant.admin, hook.id)).state).to.equal('active');
    await attempted(receiver, await test(tenant.admin, hook.id), 5);
    await eventually('the pause', async () => {
      return (await readSubscription(tenant.admin, hook.id)).state === 'paused';
    });
    await count(10);
    const refused = await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/replay-dlq`);
    expect([refused.status, refused.error]).to.deep.equal([409, 'subscription_paused']);
    await tenant.admin.api.patch(`${WEBHOOKS}/${hook.id}`, { state: 'active' });
    await count(0);
    receiver.behave(() => 200);
    const last = await test(tenant.admin, hook.id);
    await eventually('the delivery', async () => {
      return (await deliveries(tenant.admin, hook.id)).some(
        ({ id, status }) => id === last && status === 'delivered',
      );
    });
  }).timeout(60_000);

  it('do not arise when the last attempt succeeds; Retry-After at most doubles a delay', async () => {
    const slow = await startWorld({ env: { ...OPEN, WEBHOOK_RETRY_SECONDS: '0.5,0.5,0.5,0.5' } });
    const own = await paidTenant(slow);
    const receiver = await startReceiver((one, response) => {
      const attempt = Number(one.headers['x-service-attempt']);
      const status = [429, 503, 500, 503][attempt - 1] ?? 200;
      const after = ['3600', 'Wed, 21 Oct 2015 07:28:00 GMT', '3600', '-1'][attempt - 1] ?? '';
      response.writeHead(status, { 'retry-after': after }).end();
      return undefined;
    });
    const hook = await subscribe(own.admin, receiver.url);
    await attempted(receiver, await test(own.admin, hook.id), 5);
    await ofStatus(own.admin, hook.id, 'delivered', 1);
    const gaps = receiver.received.slice(1).map(({ at }, index) => at - (receiver.received[index]?.at ?? 0));
    expect(gaps).to.have.length(4);
    const late = await atPresentPace(450);
    expect(gaps[0]).to.be.within(1000, 1000 + late);
    for (const gap of gaps.slice(1)) expect(gap).to.be.within(500, 500 + late);
  }).timeout(30_000);
});
