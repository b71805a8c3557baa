import { expect } from 'chai';
import { deadLetterCounter } from '../../../application/subscribers/webhook-keepers.ts';
import { deliveryDecider } from '../../../domain/webhooks/delivery.ts';
import type { DeliveryEvent } from '../../../domain/webhooks/delivery-events.ts';
import { SUBSCRIPTIONS, subscriptionsDecider } from '../../../domain/webhooks/subscription.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { cause, dispatching } from './support.ts';

describe('the counter of dead letters', () => {
  const village = async () => {
    const { stores, node, schedule } = await dispatching();
    /** What becomes of a delivery, as the log tells it. */
    const end = async (name: string, kind: 'dead' | 'delivered') => {
      const id = await schedule(name);
      const base = { delivery_id: id, subscription_id: 'one', attempt: 5 };
      const event: DeliveryEvent =
        kind === 'dead'
          ? { type: 'DeliveryDeadLettered', data: { ...base, response_code: 500, error: 'x' } }
          : { type: 'DeliverySucceeded', data: { ...base, event: 'e', response_code: 200 } };
      await node.commands.execute({
        tenantId: 'acme',
        decider: deliveryDecider,
        id,
        cause: cause(`${name} ends`),
        decide: () => [event],
      });
      const last = (await node.events.readAll({ filter: { types: [event.type] } })).at(-1);
      if (last === undefined) throw new Error('nothing happened');
      return node.codec.decode(last);
    };
    const counted = async (on: TestNode = startNode(stores)): Promise<number | undefined> => {
      const { state } = await on.states.load('acme', subscriptionsDecider, SUBSCRIPTIONS);
      return state.byId.one?.deadLetters.length;
    };
    return { stores, node, end, counted };
  };

  it('takes a success for one also on a node that has not heard of what another has counted', async () => {
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

  it('counts a batch as if each had come by itself: ten in a row pause, and nine before a success do not', async () => {
    const { node, end, counted } = await village();
    const stateOf = async () =>
      (await node.states.load('acme', subscriptionsDecider, SUBSCRIPTIONS)).state.byId.one?.state;
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
    // Which comes again.
    await counter.handleAll?.(first);
    expect([await counted(), await stateOf()]).to.deep.equal([9, 'active']);
    await counter.handleAll?.(await ends('b', ['dead', 'dead']));
    expect([await counted(), await stateOf()]).to.deep.equal([10, 'paused']);
  });

  it('tells a success that changes nothing without reading it, and only where it surely is one', async () => {
    const { node, end } = await village();
    const counter = deadLetterCounter(node);
    const told = async (): Promise<readonly (boolean | undefined)[]> =>
      (await node.events.readAll({ filter: { types: ['DeliverySucceeded', 'DeliveryDeadLettered'] } })).map(
        (stored) => counter.passesOver?.(stored),
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

  it('begins anew with what the store says each time that it takes over', async () => {
    const { stores, node, end, counted } = await village();
    const other = startNode(stores);
    const [mine, theirs] = [deadLetterCounter(node), deadLetterCounter(other)];
    mine.begin?.();
    await mine.handle(await end('a', 'delivered'));
    // The lease goes away and comes back; meanwhile the other has counted.
    theirs.begin?.();
    await theirs.handle(await end('b', 'dead'));
    mine.begin?.();
    await mine.handle(await end('c', 'delivered'));
    expect(await counted()).to.equal(0);
  });
});
