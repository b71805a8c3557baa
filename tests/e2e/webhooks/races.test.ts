import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { closeReceivers, startReceiver, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
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
  test,
  WEBHOOKS,
} from './support.ts';

describe('Webhooks under concurrent changes', () => {
  let world: World;
  let tenant: TestTenant;

  before(async () => {
    world = await startWorld({ env: { ...OPEN, WEBHOOK_RETRY_SECONDS: '0.3,0.3,0.3,0.3' } });
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(closeReceivers);
  after(endWorld);

  const suspended = async (who: TestTenant, status: 'active' | 'suspended'): Promise<void> => {
    expect((await world.platform.patch(`/super/tenants/${who.id}`, { status })).status).to.equal(200);
  };

  it('wait while their tenant is suspended, and continue when it is active again', async () => {
    const own = await paidTenant(world);
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(own.admin, receiver.url);
    const id = await test(own.admin, hook.id);
    await eventually('an attempt', () => receiver.received.length === 1);
    await suspended(own, 'suspended');
    const calls = receiver.received.length;
    // An open call may still end; a retry would come well within this wait.
    await new Promise((resolve) => setTimeout(resolve, 1200));
    expect(receiver.received.length - calls).to.be.at.most(1);
    const stopped = receiver.received.length;
    await world.server.kill();
    await world.restart();
    await world.ready();
    // Other tenants' deliveries continue.
    const other = await startReceiver();
    const theirs = await subscribe(tenant.admin, other.url);
    await test(tenant.admin, theirs.id);
    await ofStatus(tenant.admin, theirs.id, 'delivered', 1);
    expect(receiver.received.length, 'also after a restart').to.equal(stopped);
    receiver.behave(() => 200);
    await suspended(own, 'active');
    const [done] = await ofStatus(own.admin, hook.id, 'delivered', 1);
    expect(done).to.deep.include({ id, attempts: stopped + 1 });
  }).timeout(40_000);

  it('are retried with the present URL and secret', async () => {
    const before = await startReceiver(() => 500);
    const later = await startReceiver();
    const hook = await subscribe(tenant.admin, before.url);
    const id = await test(tenant.admin, hook.id);
    await eventually('an attempt', () => before.received.length === 1);
    await tenant.admin.api.patch(`${WEBHOOKS}/${hook.id}`, { url: later.url });
    const rotated = await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/rotate-secret`);
    const { secret } = rotated.as(created);
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
    expect(before.received).to.have.length(1);
    const [one] = later.received;
    if (one === undefined) throw new Error('nothing came');
    expect([one.envelope.id, one.headers['x-service-attempt']]).to.deep.equal([id, '2']);
    expect(verifies(one, secret)).to.equal(true);
    expect(verifies(one, hook.secret, 'x-service-signature-previous')).to.equal(true);
  });

  it('are replayed once by two concurrent requests for the whole dead-letter log', async () => {
    const quick = await sharedWorld(OPEN);
    const own = await paidTenant(quick);
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(own.admin, receiver.url);
    for (let nth = 0; nth < 6; nth += 1) await test(own.admin, hook.id);
    const dead = await ofStatus(own.admin, hook.id, 'dead', 6, 15_000);
    receiver.received.length = 0;
    const path = `${WEBHOOKS}/${hook.id}/replay-dlq`;
    const answers = await Promise.all([own.admin.api.post(path), own.admin.api.post(path)]);
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202]);
    await eventually(
      'the replays',
      async () => {
        const found = await deliveries(own.admin, hook.id);
        return found.every(({ status, attempts }) => status === 'dead' && attempts === 6);
      },
      15_000,
    );
    // A further request ends only after the two replays.
    receiver.behave(() => 200);
    await own.admin.api.post(path);
    const done = await ofStatus(own.admin, hook.id, 'delivered', 6, 15_000);
    expect(done.map(({ attempts }) => attempts)).to.deep.equal([7, 7, 7, 7, 7, 7]);
    expect(receiver.received).to.have.length(12);
    expect(new Set(receiver.received.map(({ envelope }) => envelope.id))).to.deep.equal(
      new Set(dead.map(({ id }) => id)),
    );
  }).timeout(60_000);

  it('end in one state under concurrent pauses, resumes, rotations and deletions', async () => {
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    const path = `${WEBHOOKS}/${hook.id}`;
    const { api } = tenant.admin;
    const [rotations, changes] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => api.post(`${path}/rotate-secret`))),
      Promise.all(
        Array.from({ length: 10 }, (_, nth) => api.patch(path, { state: nth % 2 ? 'active' : 'paused' })),
      ),
    ]);
    const secrets = rotations.map((answer) => answer.as(created).secret);
    expect(new Set(secrets).size).to.equal(5);
    expect(changes.map(({ status }) => status)).to.deep.equal(Array.from({ length: 10 }, () => 200));
    await api.patch(path, { state: 'active' });
    await test(tenant.admin, hook.id);
    const one = await eventually('the test', () => receiver.received[0]);
    // One of the five secrets signs, along with its predecessor.
    expect(secrets.filter((secret) => verifies(one, secret))).to.have.length(1);
    expect(secrets.filter((secret) => verifies(one, secret, 'x-service-signature-previous'))).to.have.length(
      1,
    );
    receiver.behave(() => 500);
    for (let nth = 0; nth < 4; nth += 1) await test(tenant.admin, hook.id);
    const gone = await Promise.all([
      ...Array.from({ length: 3 }, () => api.delete(path)),
      api.patch(path, { description: 'late' }),
      api.post(`${path}/test`),
      api.post(`${path}/replay-dlq`),
    ]);
    expect(gone.filter(({ status }) => status === 204)).to.have.length(1);
    for (const { status } of gone) expect(status).to.be.oneOf([200, 202, 204, 404]);
    await eventually('silence', async () => {
      const calls = receiver.received.length;
      await new Promise((resolve) => setTimeout(resolve, 700));
      return receiver.received.length === calls;
    });
  }).timeout(30_000);

  it('stay active above a smaller plan’s limit until they are paused', async () => {
    const own = await paidTenant(world, 'pro');
    await plainEntity(own, 'crate');
    const receiver = await startReceiver();
    const hooks = [];
    for (let nth = 0; nth < 3; nth += 1) hooks.push(await subscribe(own.admin, `${receiver.url}?${nth}`));
    await world.platform.patch(`/super/tenants/${own.id}`, { plan: 'hobby' });
    await addRecord(own.admin, 'crate', 'a');
    await eventually('three', () => receiver.received.length === 3);
    const [first] = hooks;
    if (first === undefined) throw new Error('none');
    await own.admin.api.patch(`${WEBHOOKS}/${first.id}`, { state: 'paused' });
    const back = await own.admin.api.patch(`${WEBHOOKS}/${first.id}`, { state: 'active' });
    expect([back.status, back.error]).to.deep.equal([422, 'subscription_limit_reached']);
    expect(back.json).to.deep.include({ details: { limit: 1, active: 2 } });
    expect((await readSubscription(own.admin, first.id)).state).to.equal('paused');
  });

  it('by the hundred for a dead endpoint do not delay another subscription of the tenant', async () => {
    const gone = await startReceiver();
    await gone.close();
    const live = await startReceiver();
    const own = await paidTenant(world);
    await plainEntity(own, 'crate');
    const dead = await subscribe(own.admin, gone.url, { events: ['entity.created'] });
    const other = await subscribe(own.admin, live.url, { events: ['entity.updated'] });
    /** Median of the times from a change to its call (ms). */
    const waitOf = async (ids: readonly string[]): Promise<number> => {
      const waits: number[] = [];
      for (const id of ids) {
        const seen = live.received.length;
        const began = performance.now();
        const path = `/api/v1/tenant/entities/crate/records/${id}`;
        await own.admin.api.patch(path, { values: { title: `changed ${seen}` } });
        await eventually('the call', () =>
          live.received.slice(seen).some(({ envelope }) => envelope.data.entity_id === id),
        );
        waits.push(performance.now() - began);
      }
      return waits.sort((a, b) => a - b)[waits.length >> 1] ?? 0;
    };
    const quiet = await addRecord(own.admin, 'crate', 'quiet');
    const alone = await waitOf(Array.from({ length: 9 }, () => quiet));
    const made: string[] = [];
    for (let nth = 0; nth < 20; nth += 1) {
      made.push(
        ...(await Promise.all(Array.from({ length: 10 }, () => addRecord(own.admin, 'crate', 'dead')))),
      );
    }
    expect(await waitOf(made.slice(0, 20))).to.be.below(Math.max(500, 10 * alone));
    const pending = await deliveries(own.admin, dead.id);
    expect(pending).to.have.length(201);
    expect(
      pending.filter(({ attempts }) => attempts === 0).length,
      'the dead endpoint has a pace, and is not what the server is busy with',
    ).to.be.greaterThan(0);
    expect((await readSubscription(own.admin, other.id)).consecutive_dead_letters).to.equal(0);
  }).timeout(60_000);
});
