import { expect } from 'chai';
import fc from 'fast-check';
import { uuidFromName } from '../../../application/core/commands/request-context.ts';
import { runSubscriber, type Subscriber } from '../../../application/core/subscriptions/subscriber.ts';
import { deadLetterCounter } from '../../../application/webhooks/dead-letter-counter.ts';
import { type DeliveryEvent, deliveryStream } from '../../../domain/webhooks/delivery.ts';
import { SUBSCRIPTIONS, subscriptionsStream } from '../../../domain/webhooks/subscription.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { untilPasses } from '../../support/eventually.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { newSchedule } from '../../support/schedule.ts';
import { cause, dispatching } from './support.ts';

/** Appends the end of a new delivery. */
const append = (on: TestNode, name: string, subscriptionId: string, kind: 'dead' | 'delivered') => {
  const id = uuidFromName(name);
  const base = { delivery_id: id, subscription_id: subscriptionId, attempt: 5 };
  const event: DeliveryEvent =
    kind === 'dead'
      ? { type: 'DeliveryDeadLettered', data: { ...base, response_code: 500, error: 'x' } }
      : { type: 'DeliverySucceeded', data: { ...base, event: 'e', response_code: 200 } };
  return on.commands.execute({
    tenantId: 'acme',
    type: deliveryStream,
    id,
    cause: cause(`${name} ends`),
    decide: () => [event],
  });
};

describe('the dead-letter counter', () => {
  const village = async () => {
    const { stores, node, schedule } = await dispatching();
    /** Appends the end of a delivery and returns the event. */
    const end = async (name: string, kind: 'dead' | 'delivered') => {
      await schedule(name);
      await append(node, name, 'one', kind);
      const type = kind === 'dead' ? 'DeliveryDeadLettered' : 'DeliverySucceeded';
      const last = (await node.events.readAll({ filter: { types: [type] } })).at(-1);
      if (last === undefined) throw new Error('nothing happened');
      return node.codec.decode(last);
    };
    const counted = async (on: TestNode = startNode(stores)): Promise<number | undefined> => {
      const { state } = await on.states.load('acme', subscriptionsStream, SUBSCRIPTIONS);
      return state.byId.one?.deadLetters.length;
    };
    return { stores, node, end, counted };
  };

  it('resets at a success on a node that has not seen another node’s count', async () => {
    const { stores, node, end, counted } = await village();
    const late = startNode(stores);
    expect(await counted(late), 'which it remembers').to.equal(0);
    const counter = deadLetterCounter(node);
    for (const name of ['a', 'b', 'c']) await counter.handle(await end(name, 'dead'));
    expect(await counted()).to.equal(3);
    const successor = deadLetterCounter(late);
    successor.begin?.();
    await successor.handle(await end('d', 'delivered'));
    expect(await counted()).to.equal(0);
    await successor.handle(await end('e', 'dead'));
    expect(await counted()).to.equal(1);
    await successor.handle(await end('f', 'delivered'));
    expect(await counted()).to.equal(0);
  });

  it('counts a batch like single events: ten in a row pause, nine before a success do not', async () => {
    const { node, end, counted } = await village();
    const stateOf = async () =>
      (await node.states.load('acme', subscriptionsStream, SUBSCRIPTIONS)).state.byId.one?.state;
    const counter = deadLetterCounter(node);
    counter.begin?.();
    const ends = async (name: string, kinds: readonly ('dead' | 'delivered')[]) => {
      const batch = [];
      for (const [nth, kind] of kinds.entries()) batch.push(await end(`${name} ${nth}`, kind));
      return batch;
    };
    const nine = Array<'dead'>(9).fill('dead');
    const first = await ends('a', ['delivered', ...nine, 'delivered', 'delivered', ...nine]);
    await counter.handleAll?.(first);
    expect([await counted(), await stateOf()]).to.deep.equal([9, 'active']);
    // Delivers the same events again.
    await counter.handleAll?.(first);
    expect([await counted(), await stateOf()]).to.deep.equal([9, 'active']);
    await counter.handleAll?.(await ends('b', ['dead', 'dead']));
    expect([await counted(), await stateOf()]).to.deep.equal([10, 'paused']);
  });

  it('skips only successes that certainly change nothing, and does not decode them', async () => {
    const { node, end } = await village();
    const counter = deadLetterCounter(node);
    const told = async (): Promise<readonly (boolean | undefined)[]> =>
      (await node.events.readAll({ filter: { types: ['DeliverySucceeded', 'DeliveryDeadLettered'] } })).map(
        (stored) => counter.skips?.(stored),
      );
    counter.begin?.();
    const first = await end('a', 'delivered');
    expect(await told(), 'it has not looked yet').to.deep.equal([false]);
    await counter.handle(first);
    expect(await told()).to.deep.equal([true]);
    const dead = await end('b', 'dead');
    expect(await told()).to.deep.equal([true, false]);
    await counter.handle(dead);
    expect(await told(), 'now a success counts').to.deep.equal([false, false]);
    await counter.handle(await end('c', 'delivered'));
    expect(await told()).to.deep.equal([true, false, true]);
    counter.begin?.();
    expect(await told()).to.deep.equal([false, false, false]);
  });

  it('reads the stored count again at each takeover', async () => {
    const { stores, node, end, counted } = await village();
    const other = startNode(stores);
    const [mine, theirs] = [deadLetterCounter(node), deadLetterCounter(other)];
    mine.begin?.();
    await mine.handle(await end('a', 'delivered'));
    // The lease is lost and regained; meanwhile the other node has counted.
    theirs.begin?.();
    await theirs.handle(await end('b', 'dead'));
    mine.begin?.();
    await mine.handle(await end('c', 'delivered'));
    expect(await counted()).to.equal(0);
  });

  it('gives the same count as event by event, with any skipped events, batches and takeovers', async () => {
    type End = readonly ['one' | 'two', 'dead' | 'delivered'];
    const endOf = fc.tuple(
      fc.constantFrom('one' as const, 'two' as const),
      fc.oneof(
        { weight: 3, arbitrary: fc.constant('delivered' as const) },
        { weight: 2, arbitrary: fc.constant('dead' as const) },
      ),
    );
    const run = fc.tuple(endOf, fc.nat(12)).map(([end, more]) => Array<End>(more + 1).fill(end));
    const rounds = fc.array(fc.array(run, { maxLength: 8 }), { minLength: 1, maxLength: 3 });
    let passed = 0;
    let reached = '';
    const watched = (counter: Subscriber): Subscriber => ({
      ...counter,
      skips: (stored) => {
        if (counter.skips?.(stored) !== true) return false;
        passed += 1;
        // `skips` gets the last event of a batch only when all events before it were skipped.
        reached = stored.position;
        return true;
      },
      handleAll: async (events) => {
        await counter.handleAll?.(events);
        reached = events.at(-1)?.position ?? reached;
      },
    });
    await fc.assert(
      fc.asyncProperty(rounds, async (all) => {
        const { stores, node } = await dispatching();
        const store = await openSqliteReadStore({ path: ':memory:' });
        const expected = { one: 0, two: 0 };
        const paused = new Set<string>();
        let last = '';
        reached = '';
        for (const [round, runs] of all.entries()) {
          // Alternates between the first node with its old caches and a new node with empty caches.
          const here = round % 2 === 0 ? node : startNode(stores);
          const stopping = new AbortController();
          const lease = { store, logger: here.logger, owner: `${round}`, ttlMs: 60_000 };
          const counter = watched(deadLetterCounter(here));
          const done = runSubscriber(
            counter,
            { ...lease, ...newSchedule(), follower: here.follower, codec: here.codec },
            stopping.signal,
          );
          for (const [step, run] of runs.entries()) {
            for (const [nth, [of, kind]] of run.entries()) {
              last = (await append(node, `${round} ${step} ${nth}`, of, kind)).position ?? last;
              if (kind === 'delivered') expected[of] = 0;
              else if (!paused.has(of) && ++expected[of] === 10) paused.add(of);
            }
            // Some runs of events are delivered together with the run before, some alone.
            if (step % 3 !== 1 || step === runs.length - 1)
              await untilPasses(() => expect(reached >= last).to.equal(true));
          }
          stopping.abort();
          await done;
        }
        const { state } = await startNode(stores).states.load('acme', subscriptionsStream, SUBSCRIPTIONS);
        for (const id of ['one', 'two'] as const) {
          const { deadLetters = [], state: now } = state.byId[id] ?? {};
          expect([id, deadLetters.length, now]).to.deep.equal([
            id,
            expected[id],
            paused.has(id) ? 'paused' : 'active',
          ]);
        }
        await store.close();
      }),
      { numRuns: 10, endOnFailure: true },
    );
    expect(passed).to.be.greaterThan(0);
  }).timeout(120_000);
});
