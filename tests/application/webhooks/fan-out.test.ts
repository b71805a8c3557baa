import { expect } from 'chai';
import { z } from 'zod';
import type { LoggedEvent } from '../../../application/core/events/event-codec.ts';
import { bodyOf } from '../../../application/webhooks/event-data.ts';
import { webhookFanOut } from '../../../application/webhooks/webhook-fan-out.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import type { SubscriptionEvent } from '../../../domain/webhooks/subscription.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { memoryStores, startNode, type TestNode } from '../../support/node.ts';
import { cause, hook, writeSubscription } from './support.ts';

const id = { subscription_id: 'one' };
const paused: SubscriptionEvent = { type: 'WebhookPaused', data: { ...id, reason: 'request' } };
const activated: SubscriptionEvent = { type: 'WebhookActivated', data: id };

describe('the webhook fan-out', () => {
  const village = () => {
    const stores = memoryStores();
    const node = startNode(stores);
    return {
      stores,
      node,
      change: (...events: SubscriptionEvent[]) => writeSubscription(node, 'acme', ...events),
      happen: (name: string, tenantId = 'acme') =>
        node.commands.execute({
          tenantId,
          type: recordStream,
          id: name,
          cause: cause(name),
          decide: (): readonly RecordEvent[] => [
            {
              type: 'RecordCreated',
              data: {
                record_id: name,
                entity_name: 'crate',
                values: { title: name },
                types: {},
                schema_revision: 0,
                created_by: 'ann',
              },
            },
          ],
        }),
    };
  };
  /** All events that the fan-out follows, in log order. */
  const log = async (node: TestNode): Promise<LoggedEvent[]> => {
    const { types } = webhookFanOut(node);
    const stored = await node.events.readAll({ filter: { types } });
    return stored.map((event) => node.codec.decode(event));
  };
  const scheduled = async (node: TestNode) => {
    const stored = await node.events.readAll({ filter: { types: ['DeliveryScheduled'] } });
    return stored.map((each) => {
      const event = node.codec.decode(each);
      const body = bodyOf([event]).toString('utf8');
      const { data } = z.object({ data: z.object({ entity_id: z.string() }) }).parse(JSON.parse(body));
      const { subscription_id } = z.object({ subscription_id: z.string() }).parse(event.data);
      return { of: `${data.entity_id} to ${subscription_id}`, stream: event.stream, body };
    });
  };
  const names = async (node: TestNode): Promise<string[]> => (await scheduled(node)).map(({ of }) => of);

  it('uses the subscriptions at the time of the event, at any later time', async () => {
    for (const lag of ['each at once', 'all at the end', 'by a node that begins in the middle'] as const) {
      const { node, stores, change, happen } = village();
      let fanOut = webhookFanOut(node);
      let done = 0;
      const look = async (): Promise<void> => {
        for (const event of (await log(node)).slice(done)) {
          if (lag === 'by a node that begins in the middle') {
            fanOut = webhookFanOut(startNode(stores));
            fanOut.begin?.();
          }
          await fanOut.handle(event);
          done += 1;
        }
      };
      const steps: (() => Promise<unknown>)[] = [
        () => happen('a'),
        () => change(hook('one')),
        () => happen('b'),
        () => change(paused, hook('two')),
        () => happen('c'),
        () => change(activated),
        () => happen('d'),
        () => change({ type: 'WebhookChanged', data: { ...id, events: ['form.submitted'] } }),
        () => happen('e'),
        () => change({ type: 'WebhookDeleted', data: { subscription_id: 'two' } }),
        () => happen('f'),
        () => change(hook('three')),
      ];
      for (const step of steps) {
        await step();
        if (lag !== 'all at the end') await look();
      }
      await look();
      expect(await names(node), lag).to.have.members([
        'b to one',
        'c to two',
        'd to one',
        'd to two',
        'e to two',
      ]);
    }
  });

  it('makes one delivery with one body when events are delivered again on any node', async () => {
    const { node, stores, change, happen } = village();
    await change(hook('one'), hook('two'));
    await happen('a');
    await happen('b');
    const events = await log(node);
    for (let times = 0; times < 3; times += 1) {
      const fanOut = webhookFanOut(startNode(stores));
      for (const event of events) await fanOut.handle(event);
    }
    const nodes = [node, startNode(stores)].map((each) => webhookFanOut(each));
    await Promise.all(nodes.flatMap((each) => events.map((event) => each.handle(event))));
    const found = await scheduled(node);
    expect(found).to.have.length(4);
    for (const { stream, body } of found) {
      expect(stream).to.equal(`acme.delivery-${JSON.parse(body).id}`);
    }
  });

  it('makes the same deliveries for many events in one call as for single events', async () => {
    const { node, stores, change, happen } = village();
    await happen('before');
    await change(hook('one'));
    for (let nth = 0; nth < 300; nth += 1) {
      await happen(`${nth}`);
      if (nth === 100) await change(paused, hook('two'));
      if (nth === 200) await change(activated, { type: 'WebhookDeleted', data: { subscription_id: 'two' } });
    }
    const events = await log(node);
    const fanOut = webhookFanOut(startNode(stores));
    for (const cut of [0, 150]) await fanOut.handleAll?.(events.slice(cut, 150 + 2 * cut));
    const wanted = Array.from(
      { length: 300 },
      (_, nth) => `${nth} to ${nth > 100 && nth <= 200 ? 'two' : 'one'}`,
    );
    expect(await names(node), 'and in their order').to.deep.equal(wanted);
    const again = webhookFanOut(startNode(stores));
    await again.handleAll?.(events);
    again.begin?.();
    for (const event of events) await again.handle(event);
    expect(await names(node)).to.have.length(300);
  });

  it('skips no delivery when a store fails during a batch of events', async () => {
    for (const fault of ['unavailable before', 'unavailable after', 'lost race'] as Fault[]) {
      const { node, stores, change, happen } = village();
      await change(hook('one'), hook('two'));
      for (let nth = 0; nth < 20; nth += 1) await happen(`${nth}`);
      const faults = [...Array.from({ length: 13 }, (): Fault => 'none'), fault];
      const shaky = webhookFanOut(startNode({ ...stores, events: faultyEvents(stores.events, faults) }));
      const events = await log(node);
      await shaky.handleAll?.(events).catch(() => undefined);
      shaky.begin?.();
      await shaky.handleAll?.(events);
      const wanted = Array.from({ length: 20 }, (_, nth) => [`${nth} to one`, `${nth} to two`]).flat();
      expect(await names(node), fault)
        .to.have.members(wanted)
        .and.to.have.length(40);
    }
  });

  it('skips no delivery when a store fails between the deliveries of one event', async () => {
    for (const fault of ['unavailable before', 'unavailable after'] as Fault[]) {
      for (const at of [0, 1, 2]) {
        const { node, stores, change, happen } = village();
        await change(hook('one'), hook('two'), hook('three'));
        await happen('a');
        const faults = [...Array.from({ length: at }, (): Fault => 'none'), fault];
        const shaky = webhookFanOut(startNode({ ...stores, events: faultyEvents(stores.events, faults) }));
        const [, , , event] = await log(node);
        if (event === undefined) throw new Error('nothing happened');
        await shaky.handle(event).catch(() => undefined);
        await shaky.handle(event);
        expect(await names(node)).to.have.members(['a to one', 'a to two', 'a to three']);
      }
    }
  });

  it('keeps tenants apart', async () => {
    const { node, change, happen } = village();
    await change(hook('one'));
    await happen('a', 'other');
    const fanOut = webhookFanOut(node);
    for (const event of await log(node)) await fanOut.handle(event);
    expect(await names(node)).to.deep.equal([]);
  });

  it('skips only events that certainly have no subscription, and does not decode them', async () => {
    const { node, change, happen } = village();
    const fanOut = webhookFanOut(node);
    const told = async (): Promise<readonly (boolean | undefined)[]> =>
      (await node.events.readAll({ filter: { types: fanOut.types } })).map((each) => fanOut.skips?.(each));
    const last = async (): Promise<LoggedEvent[]> => (await log(node)).slice(-1);
    fanOut.begin?.();
    await happen('a');
    expect(await told(), 'it has not looked yet').to.deep.equal([false]);
    await fanOut.handleAll?.(await last());
    expect(await told()).to.deep.equal([true]);
    await happen('b', 'beta');
    expect(await told(), 'of another tenant').to.deep.equal([true, false]);
    await change(hook('one'));
    expect((await told()).at(-1), 'a subscription itself').to.equal(false);
    await fanOut.handleAll?.(await last());
    await happen('c');
    expect((await told()).at(-1)).to.equal(false);
    await fanOut.handleAll?.(await last());
    expect(await names(node)).to.deep.equal(['c to one']);
    await change(paused);
    await fanOut.handleAll?.(await last());
    expect((await told())[0], 'paused').to.equal(true);
    fanOut.begin?.();
    expect((await told())[0]).to.equal(false);
  });
});
