import { expect } from 'chai';
import { eventually, severalTurns } from '../../support/eventually.ts';
import { BEGINNING } from '../../support/given.ts';
import { startNode } from '../../support/node.ts';
import { answered, deliveryOf, dispatching, writeSubscription } from './support.ts';

const MINUTE = 60_000;

describe('the webhook dispatcher', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  const started = async () => {
    const village = await dispatching();
    const run = (...args: Parameters<typeof village.run>) => {
      const running = village.run(...args);
      ends.push(running.end);
      return running;
    };
    return { ...village, run };
  };

  it('sends at once, then after 1, 6, 36 and 156 minutes, and never again', async () => {
    const { run, schedule, calls, clock, node, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await eventually(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(attempt));
      await severalTurns();
      // Not a moment too early: it sleeps until just then, or looks once a minute.
      const { dueAt } = await deliveryOf(node, 'acme', id);
      if (dueAt === null) break;
      clock.advance(dueAt - clock.now() - 1);
      await severalTurns();
      expect(calls).to.have.length(attempt);
      await eventually(() => {
        clock.advance(1);
        expect(clock.now()).to.be.at.least(dueAt);
      });
      clock.advance(MINUTE);
    }
    const minutes = calls.map(({ at }) => Math.floor((at - BEGINNING) / MINUTE));
    expect(minutes).to.have.length(5);
    const table = [0, 1, 5, 30, 120];
    calls.forEach(({ at }, index) => {
      const before = calls[index - 1];
      if (before !== undefined)
        expect(at - before.at).to.be.within(
          (table[index] ?? 0) * MINUTE,
          (table[index] ?? 0) * MINUTE + MINUTE + 10,
        );
    });
    clock.advance(1000 * MINUTE);
    await severalTurns();
    expect(calls).to.have.length(5);
    expect(await deliveryOf(node, 'acme', id)).to.deep.include({ status: 'dead', attempts: 5 });
  });

  it('does not look again and again while nothing is due', async () => {
    const { run, schedule, calls, looks, clock, answer } = await started();
    answer(() => answered(500));
    run();
    await schedule('a');
    await eventually(() => expect(calls).to.have.length(1));
    await eventually(() => expect(clock.next()).to.be.within(1, MINUTE));
    await severalTurns();
    const before = looks.count;
    await severalTurns(300);
    expect([calls.length, looks.count]).to.deep.equal([1, before]);
    expect(before).to.be.below(12);
  });

  it('waits while the subscription is paused, and goes on when it is active', async () => {
    const { run, schedule, calls, node, clock, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    await eventually(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    const data = { subscription_id: 'one' };
    await writeSubscription(node, 'acme', { type: 'WebhookPaused', data: { ...data, reason: 'request' } });
    clock.advance(5 * MINUTE);
    await severalTurns(100);
    expect(calls).to.have.length(1);
    await schedule('b', 'two');
    await eventually(() => expect(calls).to.have.length(2));
    await writeSubscription(node, 'acme', { type: 'WebhookActivated', data });
    await eventually(() => expect(calls).to.have.length(3));
  });

  it('drops what waits for a subscription that was deleted', async () => {
    const { run, schedule, calls, node, answer } = await started();
    answer(() => answered(500));
    run();
    const id = await schedule('a');
    await eventually(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    await writeSubscription(node, 'acme', { type: 'WebhookDeleted', data: { subscription_id: 'one' } });
    await eventually(async () => {
      const dropped = await node.events.readAll({ filter: { types: ['DeliveryDropped'] } });
      expect(dropped).to.have.length(1);
    });
    expect(calls).to.have.length(1);
  });

  it('has at most four calls of one subscription under way, and others beside them', async () => {
    const { run, schedule, calls, answer } = await started();
    const open: (() => void)[] = [];
    answer((call) =>
      call.url.includes('one')
        ? new Promise((resolve) => open.push(() => resolve(answered(200))))
        : answered(200),
    );
    run();
    for (let i = 0; i < 10; i += 1) await schedule(`slow ${i}`);
    await eventually(() => expect(open).to.have.length(4));
    for (let i = 0; i < 20; i += 1) await schedule(`quick ${i}`, 'two');
    await eventually(() => expect(calls.filter(({ call }) => call.url.includes('two'))).to.have.length(20));
    expect(open).to.have.length(4);
    for (let done = 0; done < 10; done += 1) {
      await eventually(() => expect(open.length).to.be.greaterThan(done));
      open[done]?.();
    }
    await eventually(() => expect(calls).to.have.length(30));
  });

  it('replays dead letters one after the other, in order', async () => {
    const { run, schedule, replay, calls, node, clock, answer } = await started();
    answer(() => answered(500));
    const { end } = run();
    const ids: string[] = [];
    for (let i = 0; i < 6; i += 1) ids.push(await schedule(`${i}`));
    await eventually(async () => {
      clock.advance(130 * MINUTE);
      for (const id of ids) expect((await deliveryOf(node, 'acme', id)).status).to.equal('dead');
    });
    await end();
    calls.length = 0;
    let underWay = 0;
    answer(async () => {
      underWay += 1;
      expect(underWay).to.equal(1);
      await severalTurns(3);
      underWay -= 1;
      return answered(200);
    });
    const shuffled = [3, 0, 5, 1, 4, 2];
    for (const at of shuffled) await replay(ids[at] ?? '', 'r', `order ${at}`);
    run(node, 'another');
    await eventually(() => expect(calls).to.have.length(6));
    expect(calls.map(({ call }) => String(call.body))).to.deep.equal(['0', '1', '2', '3', '4', '5']);
  });

  it('is taken over by another node, which begins with what is due', async () => {
    const { run, schedule, calls, stores, clock, node, answer } = await started();
    answer(() => answered(503));
    const first = run();
    const id = await schedule('a');
    await eventually(async () => expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(1));
    await first.end();
    clock.advance(2 * MINUTE);
    answer(() => answered(200));
    const other = startNode({ ...stores, clock });
    run(other, 'other');
    await eventually(async () => expect((await deliveryOf(other, 'acme', id)).status).to.equal('delivered'));
    expect(calls.map(({ call }) => call.headers['X-Service-Attempt'])).to.deep.equal(['1', '2']);
  });
});
