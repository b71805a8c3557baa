import { expect } from 'chai';
import { timeSlices } from '../../../application/core/concurrency/time-slices.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { busyFor } from '../../support/busy.ts';
import { gate, severalTicks, untilPasses } from '../../support/eventually.ts';
import { BEGINNING } from '../../support/given.ts';
import { memoryStores, startNode } from '../../support/node.ts';
import { answered, deliveryOf, hook, running, writeSubscription, writeTenant } from './support.ts';

const MINUTE = 60_000;

describe('the webhook dispatcher', () => {
  const started = running();

  it('sends at once, then after 1, 6, 36 and 156 minutes, and never again', async () => {
    const { run, schedule, calls, clock, node, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(attempt));
      await severalTicks();
      // The dispatcher sends nothing early: it sleeps until the due time, and wakes once a minute.
      const { dueAt } = await deliveryOf(node, 'acme', id);
      if (dueAt === null) break;
      clock.advance(dueAt - clock.now() - 1);
      await severalTicks();
      expect(calls).to.have.length(attempt);
      clock.advance(1);
      await untilPasses(() => expect(calls).to.have.length(attempt + 1));
    }
    // Each attempt is due a fixed time after the failure of the attempt before, and is made in that millisecond.
    expect(calls.map(({ at }) => at - BEGINNING)).to.deep.equal([0, 1, 6, 36, 156].map((at) => at * MINUTE));
    clock.advance(1000 * MINUTE);
    await severalTicks();
    expect(calls).to.have.length(5);
    expect(await deliveryOf(node, 'acme', id)).to.deep.include({ status: 'dead', attempts: 5 });
  });

  it('sends in the slices of time in which requests of the tenant begin', async () => {
    const { run, schedule, calls } = await started();
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    let done = 0;
    const works = Array.from({ length: 100 }, async () => {
      await timeSlices.of('acme', 'test').next();
      busyFor(5);
      done += 1;
    });
    await schedule('b');
    await untilPasses(() => expect(calls).to.have.length(2));
    expect(done).to.equal(works.length);
    await Promise.all(works);
  });

  it('does not poll while nothing is due', async () => {
    const { run, schedule, calls, looks, clock, answer } = await started();
    answer(() => answered(500));
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    await untilPasses(() => expect(clock.next()).to.be.within(1, MINUTE));
    await severalTicks();
    const before = looks.count;
    await severalTicks(300);
    expect([calls.length, looks.count]).to.deep.equal([1, before]);
    expect(before).to.be.below(12);
  });

  it('waits while the subscription is paused, and continues when it is active', async () => {
    const { run, schedule, calls, node, clock, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    const data = { subscription_id: 'one' };
    await writeSubscription(node, 'acme', { type: 'WebhookPaused', data: { ...data, reason: 'request' } });
    clock.advance(5 * MINUTE);
    await severalTicks(100);
    expect(calls).to.have.length(1);
    await schedule('b', 'two');
    await untilPasses(() => expect(calls).to.have.length(2));
    await writeSubscription(node, 'acme', { type: 'WebhookActivated', data });
    await untilPasses(() => expect(calls).to.have.length(3));
  });

  it('waits while the tenant is suspended, and continues when it is active', async () => {
    const { run, schedule, calls, node, clock } = await started();
    const status = (to: 'active' | 'suspended') => writeTenant(node, 'acme', to);
    await status('suspended');
    run();
    await schedule('a');
    await schedule('b', 'one', 'other');
    clock.advance(5 * MINUTE);
    await severalTicks(100);
    expect(calls, 'nothing is looked at again and again').to.deep.equal([]);
    await status('active');
    await untilPasses(() => expect(calls).to.have.length(1));
  });

  it('sends deliveries of a subscription that this node has not seen yet, and drops none', async () => {
    const { run, schedule, calls, stores, node, clock, answer } = await started();
    answer(() => answered(200));
    run();
    // From now on this node has cached the subscriptions without the third one.
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    const other = startNode({ ...stores, clock });
    await writeSubscription(other, 'acme', hook('three'));
    const id = await schedule('b', 'three');
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered'));
    expect(await node.events.readAll({ filter: { types: ['DeliveryDropped'] } })).to.deep.equal([]);
  });

  it('sends a new delivery before the read model has it when nothing waits before it', async () => {
    const { run, schedule, calls, hide, clock } = await started();
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    await severalTicks(100);
    hide(true);
    for (let nth = 0; nth < 4; nth += 1) await schedule(`${nth}`);
    await untilPasses(() => expect(calls).to.have.length(5));
    await severalTicks(100);
    hide(false);
    clock.advance(5 * MINUTE);
    await severalTicks(100);
    expect(calls, 'and not once more').to.have.length(5);
  });

  it('drops late deliveries of a deleted subscription after its worker ended', async () => {
    const { run, schedule, calls, node, looks } = await started();
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    const dropped = async () =>
      (await node.events.readAll({ filter: { types: ['DeliveryDropped'] } })).length;
    await writeSubscription(node, 'acme', { type: 'WebhookDeleted', data: { subscription_id: 'one' } });
    await severalTicks(100);
    const before = looks.count;
    // No worker is left that the tenant’s changes would wake.
    await writeTenant(node, 'acme', 'suspended');
    await severalTicks(100);
    expect(looks.count).to.equal(before);
    for (let nth = 1; nth <= 3; nth += 1) {
      await schedule(`late ${nth}`);
      await untilPasses(async () => expect(await dropped()).to.equal(nth));
    }
    expect(calls).to.have.length(1);
  });

  it('throttles calls to a dead endpoint, and stops throttling at the first success', async () => {
    const { run, schedule, calls, clock, answer } = await started();
    answer(() => answered(500));
    run();
    for (let nth = 0; nth < 40; nth += 1) await schedule(`${nth}`);
    await untilPasses(() => expect(calls.length).to.be.at.least(9));
    await severalTicks(200);
    const first = calls.length;
    expect(first, 'four at a time, and they pause').to.be.at.most(12);
    clock.advance(160);
    await untilPasses(() => expect(calls.length).to.be.greaterThan(first));
    await severalTicks(200);
    expect(calls.length - first).to.be.at.most(4);
    answer(() => answered(200));
    clock.advance(160);
    await untilPasses(() => {
      clock.advance(1);
      expect(calls).to.have.length(40);
    });
  });

  it('drops waiting deliveries of a deleted subscription', async () => {
    const { run, schedule, calls, node, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    await writeSubscription(node, 'acme', { type: 'WebhookDeleted', data: { subscription_id: 'one' } });
    await untilPasses(async () => {
      const dropped = await node.events.readAll({ filter: { types: ['DeliveryDropped'] } });
      expect(dropped).to.have.length(1);
    });
    expect(calls).to.have.length(1);
  });

  it('makes at most four concurrent calls for a subscription while it serves other subscriptions', async () => {
    const { run, schedule, calls, answer } = await started();
    const open: (() => void)[] = [];
    answer((call) =>
      call.url.includes('one')
        ? new Promise((resolve) => open.push(() => resolve(answered(200))))
        : answered(200),
    );
    run();
    for (let i = 0; i < 10; i += 1) await schedule(`slow ${i}`);
    await untilPasses(() => expect(open).to.have.length(4));
    for (let i = 0; i < 20; i += 1) await schedule(`quick ${i}`, 'two');
    await untilPasses(() => expect(calls.filter(({ call }) => call.url.includes('two'))).to.have.length(20));
    expect(open).to.have.length(4);
    for (let done = 0; done < 10; done += 1) {
      await untilPasses(() => expect(open.length).to.be.greaterThan(done));
      open[done]?.();
    }
    await untilPasses(() => expect(calls).to.have.length(30));
  });

  it('makes further calls while successes are being recorded, up to sixteen at a time', async () => {
    const stores = memoryStores();
    const disk = gate();
    let writing = 0;
    const events: EventStore = {
      ...stores.events,
      append: async (stream, expected, added) => {
        if (added.some(({ type }) => type === 'DeliverySucceeded')) {
          writing += 1;
          await disk.passed;
        }
        return stores.events.append(stream, expected, added);
      },
    };
    const { run, schedule, calls, node } = await started({ ...stores, events });
    run();
    const ids: string[] = [];
    for (let nth = 0; nth < 30; nth += 1) ids.push(await schedule(`${nth}`));
    await untilPasses(() => expect(calls).to.have.length(16));
    await severalTicks(100);
    expect(calls, 'what a crash would send again is bounded').to.have.length(16);
    expect(writing).to.equal(16);
    disk.open();
    await untilPasses(async () => {
      for (const id of ids) expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered');
    });
    expect(calls, 'each is called once').to.have.length(30);
  });

  it('sends each delivery of a backlog once when the read model is far behind', async () => {
    const { run, schedule, calls, lag, node } = await started();
    const ids: string[] = [];
    for (let nth = 0; nth < 700; nth += 1) ids.push(await schedule(`${nth}`));
    // Drops the cached states, as a restart does.
    for (const id of ids) node.states.drop(`acme.delivery-${id}`);
    lag(300);
    run();
    await untilPasses(async () => {
      const recorded = await node.events.readAll({ filter: { types: ['DeliverySucceeded'] }, limit: 2000 });
      expect(recorded).to.have.length(700);
    });
    expect(calls).to.have.length(700);
    expect(new Set(calls.map(({ call }) => call.headers['X-Service-Delivery'])).size).to.equal(700);
  }).timeout(30_000);

  it('replays dead letters one after another in order', async () => {
    const { run, schedule, replay, calls, node, clock, answer } = await started();
    answer(() => answered(500));
    const { end } = run();
    const ids: string[] = [];
    for (let i = 0; i < 6; i += 1) ids.push(await schedule(`${i}`));
    await untilPasses(async () => {
      clock.advance(130 * MINUTE);
      for (const id of ids) expect((await deliveryOf(node, 'acme', id)).status).to.equal('dead');
    });
    await end();
    calls.length = 0;
    let underWay = 0;
    answer(async () => {
      underWay += 1;
      expect(underWay).to.equal(1);
      await severalTicks(3);
      underWay -= 1;
      return answered(200);
    });
    const shuffled = [3, 0, 5, 1, 4, 2];
    for (const at of shuffled) await replay(ids[at] ?? '', 'r', `order ${at}`);
    run(node, { owner: 'another' });
    await untilPasses(() => expect(calls).to.have.length(6));
    expect(calls.map(({ call }) => String(call.body))).to.deep.equal(['0', '1', '2', '3', '4', '5']);
  });

  it('goes on with its calls when an event of another tenant cannot be decoded', async () => {
    const { run, schedule, calls, node, answer } = await started();
    const { passed, open } = gate();
    answer(async () => {
      await passed;
      return answered(200);
    });
    run();
    const id = await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    const broken = { id: node.ids.next(), type: 'DeliveryScheduled', data: '{}', metadata: '{}' };
    await node.events.append('other.delivery-broken', 'no_stream', [broken]);
    await schedule('b', 'two');
    await untilPasses(() => expect(calls).to.have.length(2));
    open();
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered'));
    expect(calls).to.have.length(2);
  });

  it('is taken over by another node, which starts with the due deliveries', async () => {
    const { run, schedule, calls, stores, clock, node, answer } = await started();
    answer(() => answered(503));
    const first = run();
    const id = await schedule('a');
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    await first.end();
    clock.advance(2 * MINUTE);
    answer(() => answered(200));
    const other = startNode({ ...stores, clock });
    run(other, { owner: 'other' });
    await untilPasses(async () => expect((await deliveryOf(other, 'acme', id)).status).to.equal('delivered'));
    expect(calls.map(({ call }) => call.headers['X-Service-Attempt'])).to.deep.equal(['1', '2']);
  });
});
