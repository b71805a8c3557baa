import { expect } from 'chai';
import { Streams } from '../../../application/core/commands/streams.ts';
import { monotonic } from '../../../application/core/runtime/timers.ts';
import type { EventStore, StoredEvent } from '../../../application/ports/event-store.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { gate, severalTicks, untilPasses } from '../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';
import { answered, deliveryOf, hook, running, writeSubscription } from './support.ts';

const MINUTE = 60_000;

describe('A backlog of webhooks', () => {
  const started = running();
  type Village = Awaited<ReturnType<typeof started>>;

  /** Lets the first delivery of `two` hold the only slot, while `one` has three that wait. */
  const waitingForSlot = async (village: Village) => {
    const { run, schedule, calls, answer, stores, clock, node } = village;
    const held = gate();
    const data = { subscription_id: 'one' };
    // The subscription is reactivated with three due deliveries, which its worker reads together.
    await writeSubscription(node, 'acme', { type: 'WebhookPaused', data: { ...data, reason: 'request' } });
    answer(async (call) => {
      if (call.url.includes('two')) await held.passed;
      return answered(200);
    });
    const sender = startNode({ ...stores, clock });
    const { end } = run(sender, { slots: 1 });
    await schedule('first', 'two');
    await untilPasses(() => expect(calls).to.have.length(1));
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) ids.push(await schedule(name));
    await writeSubscription(node, 'acme', { type: 'WebhookActivated', data });
    await severalTicks(100);
    expect(calls).to.have.length(1);
    return { ids, sender, release: held.open, end };
  };

  /** Delivers the backlog on another node that does not see the lease of the first node. */
  const deliverElsewhere = async ({ run, stores, clock }: Village, ids: readonly string[]) => {
    const other = startNode({ ...stores, clock });
    const store = await openSqliteReadStore({ path: ':memory:' });
    const { end } = run(other, { owner: 'other', store });
    await untilPasses(async () => {
      const fresh = startNode({ ...stores, clock });
      for (const id of ids) expect((await deliveryOf(fresh, 'acme', id)).status).to.equal('delivered');
    });
    return end;
  };

  it('is not sent from data read before a long pause of the node, since another node may have sent it', async () => {
    const village = await started();
    const { ids, release } = await waitingForSlot(village);
    village.answer(() => answered(200));
    await deliverElsewhere(village, ids);
    const sent = village.calls.length;
    const real = performance.now.bind(performance);
    try {
      performance.now = () => real() + 10_000;
      village.clock.advance(10_000);
      release();
      await severalTicks(300);
      const ofIds = village.calls.filter(({ call }) => call.url.includes('one'));
      expect(ofIds, 'each once, by the other node').to.have.length(3);
      expect(village.calls.length).to.be.at.least(sent);
    } finally {
      performance.now = real;
    }
  });

  it('is sent in its present state after a replay was requested while it waited', async () => {
    const village = await started();
    const { ids, release } = await waitingForSlot(village);
    village.answer(() => answered(200));
    await (await deliverElsewhere(village, ids))();
    village.calls.length = 0;
    await village.replay(ids[0] ?? '', 'r');
    await severalTicks(50);
    release();
    await untilPasses(() => expect(village.calls.length).to.be.at.least(1));
    await severalTicks(100);
    const attempts = village.calls
      .filter(({ call }) => call.headers['X-Service-Delivery'] === ids[0])
      .map(({ call }) => call.headers['X-Service-Attempt']);
    expect(attempts).to.deep.equal(['2']);
  });

  it('of new deliveries keeps no body in memory while waiting', async () => {
    const stores = memoryStores();
    const read = new Set<string>();
    const events: EventStore = {
      ...stores.events,
      readStream: async (...args) => {
        const found = await stores.events.readStream(...args);
        for (const { type, stream } of found) if (type === 'DeliveryScheduled') read.add(stream);
        return found;
      },
    };
    const { run, schedule, calls, answer, clock, node } = await started({ ...stores, events });
    const held = gate();
    /** Deliveries whose body was read from the store before sending. */
    const readBefore: string[] = [];
    answer(async (call) => {
      const id = call.headers['X-Service-Delivery'] ?? '';
      if (read.has(`acme.delivery-${id}`)) readBefore.push(id);
      if (call.url.includes('two')) await held.passed;
      return answered(200);
    });
    run(node, { slots: 1 });
    const first = await schedule('first');
    await untilPasses(async () => {
      const fresh = startNode({ ...stores, clock });
      expect((await deliveryOf(fresh, 'acme', first)).status).to.equal('delivered');
    });
    await severalTicks(100);
    const atOnce = await schedule('at once');
    await untilPasses(() => expect(calls).to.have.length(2));
    await untilPasses(async () => {
      const fresh = startNode({ ...stores, clock });
      expect((await deliveryOf(fresh, 'acme', atOnce)).status).to.equal('delivered');
    });
    await severalTicks(100);
    await schedule('holds the slot', 'two');
    await untilPasses(() => expect(calls).to.have.length(3));
    const waits = await schedule('waits');
    await severalTicks(100);
    held.open();
    await untilPasses(() => expect(calls).to.have.length(4));
    expect(readBefore).to.include(waits).and.not.to.include(atOnce);
  });

  it('uses bounded memory with any number of subscriptions', async () => {
    const { run, schedule, stores, clock, answer, node, calls } = await started();
    const held = gate();
    answer(async () => {
      await held.passed;
      return answered(200);
    });
    const hooks = 250;
    for (let nth = 0; nth < hooks; nth += 1) {
      await writeSubscription(node, 'acme', hook(`h${nth}`));
      for (const name of ['a', 'b', 'c', 'd'])
        await schedule(`${name}${nth}`, `h${nth}`, 'acme', 'x'.repeat(60_000));
    }
    // Deliveries that were read ahead are dropped after 500 ms.
    const reads: { readonly at: number; readonly length: number }[] = [];
    const added = (found: readonly StoredEvent[]): void => {
      const at = monotonic();
      for (const { stream, data } of found)
        if (stream.includes('delivery-')) reads.push({ at, length: data.length });
    };
    const heldAt = (end: number): number =>
      reads.reduce((sum, { at, length }) => (at <= end && at > end - 450 ? sum + length : sum), 0);
    const events: EventStore = {
      ...stores.events,
      readStream: async (...args) => {
        const found = await stores.events.readStream(...args);
        added(found);
        return found;
      },
      readStreams: async (...args) => {
        const found = await stores.events.readStreams(...args);
        for (const stream of found) added(stream);
        return found;
      },
    };
    const { end } = run(startNode({ ...stores, clock, events }), { slots: 8 });
    await untilPasses(() => expect(calls).to.have.length(4));
    await severalTicks(500);
    const ended = end();
    held.open();
    await ended;
    const most = Math.max(...new Set(reads.map(({ at }) => heldAt(at))));
    expect(most / 2 ** 20, 'MiB').to.be.within(1, 40);
  }).timeout(60_000);

  it('gives a failed delivery its second attempt during a stream of new ones', async () => {
    const { run, schedule, calls, clock, answer, node } = await started();
    let made = 0;
    let isOver = false;
    answer(async (call) => {
      const isFirst = Buffer.from(call.body ?? '').toString() === 'fails';
      clock.advance(200);
      made += 1;
      if (!isOver && made < 3000) await schedule(`more ${made}`);
      return answered(isFirst ? 500 : 200);
    });
    const id = await schedule('fails');
    for (let nth = 0; nth < 300; nth += 1) await schedule(`${nth}`);
    run();
    await untilPasses(async () => {
      expect((await deliveryOf(node, 'acme', id)).attempts).to.equal(2);
    });
    isOver = true;
    expect(made, 'before the others have ended').to.be.lessThan(3000);
    expect(calls.length).to.be.greaterThan(100);
  }).timeout(30_000);

  /** Delivers six replays in order, on a node that may fail, and returns the bodies in the order of the calls. */
  const replayedOn = async (makeNode: (village: Village) => TestNode): Promise<readonly string[]> => {
    const village = await started();
    const { run, schedule, replay, calls, stores, clock, node, answer, lag } = village;
    answer(() => answered(500));
    const { end } = run();
    const ids: string[] = [];
    for (let nth = 0; nth < 6; nth += 1) ids.push(await schedule(`${nth}`));
    await untilPasses(async () => {
      clock.advance(130 * MINUTE);
      for (const id of ids) expect((await deliveryOf(node, 'acme', id)).status).to.equal('dead');
    });
    await end();
    calls.length = 0;
    answer(() => answered(200));
    for (const [nth, id] of ids.entries()) await replay(id, 'r', `order ${nth}`);
    lag(4);
    run(makeNode(village), { owner: 'other' });
    await untilPasses(async () => {
      clock.advance(1000);
      const fresh = startNode({ ...stores, clock });
      for (const id of ids) expect((await deliveryOf(fresh, 'acme', id)).status).to.equal('delivered');
    });
    return calls.map(({ call }) => Buffer.from(call.body ?? '').toString());
  };

  it('of replays keeps its order when the store fails for a moment and the read model is behind', async () => {
    const faults = Array.from({ length: 20 }, (_, nth): Fault => (nth < 12 ? 'unavailable before' : 'none'));
    const order = await replayedOn(({ stores, clock }) =>
      startNode({ ...stores, clock, events: faultyEvents(stores.events, faults) }),
    );
    expect(order).to.deep.equal(['0', '1', '2', '3', '4', '5']);
  });

  it('of replays keeps its order when attempts cannot be recorded since their streams are too busy', async () => {
    const order = await replayedOn(({ stores, clock }) => {
      const node = startNode({ ...stores, clock });
      return { ...node, streams: new BusyStreams(node.commands, node.states) };
    });
    expect(order).to.deep.equal(['0', '1', '2', '3', '4', '5']);
  });
});

/** Refuses the first writes, as if their streams kept losing races. */
class BusyStreams extends Streams {
  #refusals = 12;

  override executeAll: Streams['executeAll'] = (...args) => {
    this.#refusals -= 1;
    return this.#refusals < 0
      ? super.executeAll(...args)
      : Promise.reject(new DomainError('unavailable', 'The stream is too busy.'));
  };
}
