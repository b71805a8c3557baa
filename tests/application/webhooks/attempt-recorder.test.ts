import { expect } from 'chai';
import fc from 'fast-check';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { AttemptRecorder } from '../../../application/webhooks/attempt-recorder.ts';
import type { AttemptOutcome } from '../../../domain/webhooks/delivery.ts';
import { deliveryDecider } from '../../../domain/webhooks/delivery.ts';
import { eventually, gate, rejection, severalTurns } from '../../support/eventually.ts';
import { silentMetrics } from '../../support/fakes.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { cause, deliveryOf, dispatching } from './support.ts';

const DELIVERED: AttemptOutcome = { kind: 'delivered', responseCode: 204 };
const FAILED: AttemptOutcome = { kind: 'failed', responseCode: 500, error: 'HTTP 500', delayMs: 60_000 };
const REFUSED: AttemptOutcome = { kind: 'refused', error: 'The address is not one that is called.' };
const RECORDS = ['DeliverySucceeded', 'DeliveryFailed', 'DeliveryDeadLettered', 'DeliveryRefused'];

const recorderOf = (node: TestNode, events: EventStore = node.events): AttemptRecorder =>
  new AttemptRecorder({
    ...node,
    events,
    metrics: silentMetrics,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
  });

/** The delivery as it is when its attempt begins, and what became of that. */
const attemptOf = async (node: TestNode, id: string, outcome: AttemptOutcome = DELIVERED) => {
  const head = await node.states.load('acme', deliveryDecider, id);
  const { state } = head;
  if (state.kind !== 'scheduled') throw new Error('no such delivery');
  const record = { attempt: state.attempts + 1, replayId: state.replay?.id, outcome };
  return { tenantId: 'acme', deliveryId: id, head, record, cause: cause(`of ${id}`) };
};

const recorded = async (node: TestNode) => node.events.readAll({ filter: { types: RECORDS } });

describe('the record of attempts', () => {
  const scheduled = async (count: number) => {
    const village = await dispatching();
    const ids: string[] = [];
    for (let nth = 0; nth < count; nth += 1) ids.push(await village.schedule(`${nth}`));
    return { ...village, ids };
  };

  it('is the same for many at once as for each as a command, chained to what came before', async () => {
    const { node, ids, stores, clock } = await scheduled(12);
    const recorder = recorderOf(node);
    const outcomes = [DELIVERED, FAILED, REFUSED];
    const positions = await Promise.all(
      ids.map(async (id, nth) =>
        recorder.record(await attemptOf(node, id, outcomes[nth % 3]), nth % 2 === 0 ? 'soon' : 'with others'),
      ),
    );
    const events = await recorded(node);
    expect(events.map(({ position }) => position).sort()).to.deep.equal([...positions].sort());
    // Another node makes the same of the log; the hashes are checked there, and by the verifier of exports.
    const other = startNode({ ...stores, clock });
    const statuses = await Promise.all(ids.map(async (id) => (await deliveryOf(other, 'acme', id)).status));
    expect(statuses).to.deep.equal(ids.map((_, nth) => ['delivered', 'pending', 'failed'][nth % 3]));
    for (const [nth, id] of ids.entries()) {
      const [made, record] = await node.events.readStream(`acme.delivery-${id}`);
      if (made === undefined || record === undefined) throw new Error('not recorded');
      expect(JSON.parse(record.metadata)).to.deep.include({
        prev_hash: JSON.parse(made.metadata).hash,
        $causationId: `of ${id}`,
      });
      expect(record.type).to.equal(['DeliverySucceeded', 'DeliveryFailed', 'DeliveryRefused'][nth % 3]);
    }
  });

  it('goes to disk together, soon, and at once when somebody waits for it', async () => {
    const { node, ids } = await scheduled(40);
    const turns: number[] = [];
    let turn = 0;
    const events: EventStore = {
      ...node.events,
      append: (...args) => {
        turns.push(turn);
        return node.events.append(...args);
      },
    };
    const recorder = recorderOf(node, events);
    const attempts = await Promise.all(ids.map((id) => attemptOf(node, id)));
    const some = (from: number, to: number) =>
      attempts.slice(from, to).map((each) => recorder.record(each, 'with others'));
    await Promise.all(some(0, 10));
    expect(new Set(turns).size, 'alone, they are not waited for').to.equal(1);
    expect(turns).to.have.length(10);
    turn = 1;
    const waiting = Promise.all(some(10, 20));
    await severalTurns(3);
    expect(turns, 'others are about to come').to.have.length(10);
    recorder.hurry();
    await waiting;
    expect(turns).to.have.length(20);
    turn = 2;
    const rest = Promise.all(some(20, 30));
    await severalTurns(2);
    turn = 3;
    const last = attempts[30];
    if (last === undefined) throw new Error('too few');
    await recorder.record(last, 'soon');
    await rest;
    expect(turns.slice(20), 'what waits goes along').to.deep.equal(Array.from({ length: 11 }, () => 3));
    turn = 4;
    await Promise.all(some(31, 40));
    expect(turns, 'and nobody has to hurry them').to.have.length(40);
  });

  it('of one whose delivery has changed meanwhile is decided anew, and disturbs no other', async () => {
    const { node, ids, stores, clock, replay } = await scheduled(6);
    const attempts = await Promise.all(ids.map((id) => attemptOf(node, id, FAILED)));
    // Another node has delivered one, and somebody has asked for a replay of another.
    const other = startNode({ ...stores, clock });
    const [first = '', second = ''] = ids;
    await recorderOf(other).record(await attemptOf(other, first), 'soon');
    await replay(second, 'r');
    const recorder = recorderOf(node);
    await Promise.all(attempts.map((each) => recorder.record(each, 'with others')));
    const found = await Promise.all(ids.map((id) => deliveryOf(startNode({ ...stores, clock }), 'acme', id)));
    expect(found.map(({ status, attempts: made }) => `${status} ${made}`)).to.deep.equal([
      'delivered 1',
      ...Array.from({ length: 5 }, () => 'pending 1'),
    ]);
    expect(found[1]?.replay, 'is still to come').to.deep.include({ id: 'r' });
    expect(await recorded(node)).to.have.length(6);
  });

  it('of two nodes that have made the same attempts is the one that comes first, of each', async () => {
    const { node, ids, stores, clock } = await scheduled(10);
    const other = startNode({ ...stores, clock });
    const mine = await Promise.all(ids.map((id) => attemptOf(node, id, DELIVERED)));
    const theirs = await Promise.all(ids.map((id) => attemptOf(other, id, FAILED)));
    const [one, two] = [recorderOf(node), recorderOf(other)];
    await Promise.all([
      ...mine.slice(0, 5).map((each) => one.record(each, 'with others')),
      ...theirs.map((each) => two.record(each, 'with others')),
      ...mine.slice(5).map((each) => one.record(each, 'with others')),
    ]);
    const streams = (await recorded(node)).map(({ stream }) => stream);
    expect(streams).to.have.length(10);
    expect(new Set(streams).size).to.equal(10);
  });

  it('is made once for each, whatever befalls the appends', async () => {
    const fault = fc.constantFrom<Fault>('none', 'lost race', 'unavailable before', 'unavailable after');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 30 }),
        fc.array(fc.constantFrom(DELIVERED, FAILED, REFUSED), { minLength: 1, maxLength: 12 }),
        async (faults, outcomes) => {
          const { stores, clock, ids } = await scheduled(outcomes.length);
          const shaky = startNode({ ...stores, clock, events: faultyEvents(stores.events, faults) });
          const recorder = recorderOf(shaky);
          const ends = await Promise.allSettled(
            outcomes.map(async (outcome, nth) =>
              recorder.record(await attemptOf(shaky, ids[nth] ?? '', outcome), 'with others'),
            ),
          );
          const fresh = startNode({ ...stores, clock });
          for (const [nth, id] of ids.entries()) {
            const { attempts } = await deliveryOf(fresh, 'acme', id);
            // Given up only after many faults in a row; then it is made again, as one that a crash cut off.
            expect(attempts).to.be.at.most(1);
            if (ends[nth]?.status === 'fulfilled') expect(attempts).to.equal(1);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('is told as it is when the store stays away', async () => {
    const { stores, clock, ids } = await scheduled(1);
    const gone = Array.from({ length: 50 }, (): Fault => 'unavailable before');
    const broken = startNode({ ...stores, clock, events: faultyEvents(stores.events, gone) });
    const attempt = await attemptOf(broken, ids[0] ?? '');
    expect(await rejection(recorderOf(broken).record(attempt, 'soon'))).to.be.instanceOf(StoreUnavailable);
  });

  it('leaves nothing in memory of what is over, and what comes again as it is', async () => {
    const { node, ids } = await scheduled(2);
    const [over = '', again = ''] = ids;
    const recorder = recorderOf(node);
    await recorder.record(await attemptOf(node, over), 'soon');
    await recorder.record(await attemptOf(node, again, FAILED), 'soon');
    expect(node.states.cached(`acme.delivery-${over}`)).to.equal(undefined);
    expect(node.states.cached(`acme.delivery-${again}`)?.revision).to.equal(1);
    await recorder.record(await attemptOf(node, again), 'soon');
    expect((await deliveryOf(node, 'acme', again)).attempts).to.equal(2);
  });

  it('waits for the disk before it is said to be made', async () => {
    const { node, ids } = await scheduled(1);
    const disk = gate();
    const slow: EventStore = {
      ...node.events,
      append: async (...args) => {
        await disk.passed;
        return node.events.append(...args);
      },
    };
    let over = false;
    const done = recorderOf(node, slow)
      .record(await attemptOf(node, ids[0] ?? ''), 'soon')
      .then(() => {
        over = true;
      });
    await severalTurns();
    expect(over).to.equal(false);
    disk.open();
    await done;
    await eventually(async () => expect(await recorded(node)).to.have.length(1));
  });
});
