import { expect } from 'chai';
import fc from 'fast-check';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import type { OutboundAnswer } from '../../../application/ports/outbound-http.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { gate, severalTicks, untilPasses } from '../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { type Answers, answered, deliveryOf, running } from './support.ts';

const RECORDS = ['DeliverySucceeded', 'DeliveryFailed', 'DeliveryDeadLettered', 'DeliveryRefused'];

const recorded = (node: TestNode) => node.events.readAll({ filter: { types: RECORDS } });

const REFUSED: OutboundAnswer = {
  kind: 'refused',
  reason: 'malformed',
  message: 'The address is not called.',
};

/** Leases that no other dispatcher sees. */
const ownLeases = () => openSqliteReadStore({ path: ':memory:' });

const bodyOf = (call: Parameters<Answers>[0]): string => Buffer.from(call.body ?? '').toString();

describe('The record of a dispatched attempt', () => {
  const started = running();

  it('is chained to the delivery and has the outcome, for many concurrent attempts', async () => {
    const { run, schedule, stores, clock, answer } = await started();
    const answers = [answered(204), answered(500), REFUSED];
    answer((call) => answers[Number(bodyOf(call)) % 3] ?? answered(204));
    const ids: string[] = [];
    for (let nth = 0; nth < 12; nth += 1) ids.push(await schedule(`${nth}`));
    const sender = startNode({ ...stores, clock });
    run(sender);
    await untilPasses(async () => expect(await recorded(sender)).to.have.length(12));
    // Another node folds the log and checks the hashes of each stream.
    const other = startNode({ ...stores, clock });
    for (const [nth, id] of ids.entries()) {
      const { status, attempts } = await deliveryOf(other, 'acme', id);
      expect([status, attempts]).to.deep.equal([['delivered', 'pending', 'failed'][nth % 3], 1]);
      const [made, record] = await other.events.readStream(`acme.delivery-${id}`);
      expect(record?.type).to.equal(['DeliverySucceeded', 'DeliveryFailed', 'DeliveryRefused'][nth % 3]);
      expect(JSON.parse(record?.metadata ?? '{}').prev_hash).to.equal(
        JSON.parse(made?.metadata ?? '{}').hash,
      );
    }
  });

  it('is written once when its append fails, loses its answer or loses a race', async () => {
    for (const faults of [
      ['unavailable before'],
      ['unavailable after'],
      ['lost race'],
      ['unavailable after', 'unavailable before', 'unavailable before'],
    ] as Fault[][]) {
      const { run, schedule, stores, clock, calls, node, answer } = await started();
      answer(() => answered(500));
      const id = await schedule('a');
      const { end } = run(startNode({ ...stores, clock, events: faultyEvents(stores.events, faults) }));
      await untilPasses(async () => expect(await recorded(node)).to.have.length(1));
      await end();
      expect(await deliveryOf(startNode({ ...stores, clock }), 'acme', id)).to.deep.include({
        attempts: 1,
        status: 'pending',
      });
      expect([(await recorded(node)).length, calls.length], faults.join()).to.deep.equal([1, 1]);
    }
  });

  it('is written without another call after a long time in which the store takes no events', async () => {
    const { run, schedule, stores, clock, calls } = await started();
    const id = await schedule('a');
    const full = Array.from({ length: 50 }, (): Fault => 'unavailable before');
    run(startNode({ ...stores, clock, events: faultyEvents(stores.events, full) }));
    await untilPasses(async () => {
      clock.advance(1000);
      const fresh = startNode({ ...stores, clock });
      expect((await deliveryOf(fresh, 'acme', id)).status).to.equal('delivered');
    });
    expect(calls).to.have.length(1);
  });

  it('leads to another attempt with the same number when it can never be written', async () => {
    const { run, schedule, stores, clock, calls, node } = await started();
    const id = await schedule('a');
    const events: EventStore = {
      ...stores.events,
      append: () => Promise.reject(new StoreUnavailable('no connection')),
    };
    const { end } = run(startNode({ ...stores, clock, events }));
    await untilPasses(() => expect(calls.length).to.be.at.least(1));
    await end();
    const before = calls.length;
    run(node, { owner: 'other' });
    await untilPasses(async () => expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered'));
    expect(calls.length).to.equal(before + 1);
    expect(new Set(calls.map(({ call }) => call.headers['X-Service-Attempt']))).to.deep.equal(new Set(['1']));
    expect(await deliveryOf(node, 'acme', id)).to.deep.include({ attempts: 1 });
  });

  it('is written by the first of two nodes that make the same attempt with the same bytes', async () => {
    const { run, schedule, stores, clock, calls, node, answer } = await started();
    const slow = gate();
    answer(async () => {
      await slow.passed;
      return answered(500);
    });
    const ids: string[] = [];
    for (let nth = 0; nth < 4; nth += 1) ids.push(await schedule(`${nth}`));
    run();
    await untilPasses(() => expect(calls).to.have.length(4));
    answer(() => answered(200));
    const other = startNode({ ...stores, clock });
    run(other, { owner: 'other', store: await ownLeases() });
    await untilPasses(async () => expect(await recorded(other)).to.have.length(4));
    slow.open();
    await severalTicks(200);
    expect(calls).to.have.length(8);
    for (const id of ids) {
      const [one, two] = calls.filter(({ call }) => call.headers['X-Service-Delivery'] === id);
      expect(two?.call).to.deep.include({ body: one?.call.body, headers: one?.call.headers });
    }
    expect((await recorded(node)).map(({ type }) => type)).to.deep.equal(Array(4).fill('DeliverySucceeded'));
  });

  it('keeps a replay that was requested during the attempt, without affecting others', async () => {
    const { run, schedule, clock, calls, node, answer, replay } = await started();
    const slow = gate();
    answer(async () => {
      await slow.passed;
      return answered(500);
    });
    const ids: string[] = [];
    for (let nth = 0; nth < 4; nth += 1) ids.push(await schedule(`${nth}`));
    run();
    await untilPasses(() => expect(calls).to.have.length(4));
    await replay(ids[1] ?? '', 'r');
    slow.open();
    await untilPasses(() => {
      clock.advance(1);
      expect(calls).to.have.length(5);
    });
    expect(calls[4]?.call.headers).to.deep.include({
      'X-Service-Delivery': ids[1],
      'X-Service-Attempt': '2',
    });
    await untilPasses(async () => {
      const attempts = [];
      for (const id of ids) attempts.push((await deliveryOf(node, 'acme', id)).attempts);
      expect(attempts).to.deep.equal([1, 2, 1, 1]);
    });
    const replays = (await recorded(node)).flatMap(({ data }) => JSON.parse(data).replay_id ?? []);
    expect(replays).to.deep.equal(['r']);
  });

  it('is written before the delivery counts as delivered', async () => {
    const { run, schedule, stores, clock, calls, node } = await started();
    const disk = gate();
    const events: EventStore = {
      ...stores.events,
      append: async (...args) => {
        await disk.passed;
        return stores.events.append(...args);
      },
    };
    const id = await schedule('a');
    const sender = startNode({ ...stores, clock, events });
    run(sender);
    await untilPasses(() => expect(calls).to.have.length(1));
    await severalTicks(50);
    expect((await deliveryOf(sender, 'acme', id)).status).to.equal('pending');
    expect(await recorded(node)).to.deep.equal([]);
    disk.open();
    await untilPasses(async () => {
      const fresh = startNode({ ...stores, clock });
      expect((await deliveryOf(fresh, 'acme', id)).status).to.equal('delivered');
    });
  });

  it('leaves no state of a finished delivery in the cache', async () => {
    const { run, schedule, node } = await started();
    run();
    const ids: string[] = [];
    for (let nth = 0; nth < 20; nth += 1) ids.push(await schedule(`${nth}`));
    await untilPasses(async () => expect(await recorded(node)).to.have.length(20));
    await untilPasses(() => {
      for (const id of ids) expect(node.states.cached(`acme.delivery-${id}`)).to.equal(undefined);
    });
  });

  it('is written once per attempt with any failing appends and any outcomes', async () => {
    const fault = fc.constantFrom<Fault>('none', 'lost race', 'unavailable before', 'unavailable after');
    const outcome = fc.constantFrom<'delivered' | 'refused'>('delivered', 'refused');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 30 }),
        fc.array(outcome, { minLength: 1, maxLength: 12 }),
        async (faults, outcomes) => {
          const { run, schedule, stores, clock, calls, node, answer } = await started();
          answer((call) => (outcomes[Number(bodyOf(call))] === 'refused' ? REFUSED : answered(200)));
          const ids: string[] = [];
          for (const nth of outcomes.keys()) ids.push(await schedule(`${nth}`));
          const { end } = run(startNode({ ...stores, clock, events: faultyEvents(stores.events, faults) }));
          await untilPasses(async () => {
            clock.advance(1000);
            expect(await recorded(node)).to.have.length(outcomes.length);
          });
          await end();
          const fresh = startNode({ ...stores, clock });
          for (const id of ids) expect((await deliveryOf(fresh, 'acme', id)).attempts).to.equal(1);
          // A repeated attempt has the number of the attempt that was not recorded.
          expect(new Set(calls.map(({ call }) => call.headers['X-Service-Attempt']))).to.deep.equal(
            new Set(['1']),
          );
        },
      ),
      { numRuns: 40 },
    );
  }).timeout(60_000);
});
