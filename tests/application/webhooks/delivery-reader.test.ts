import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { uuidFromName } from '../../../application/request-context.ts';
import { bodyOf, storedBody } from '../../../application/webhooks/body.ts';
import { DeliveryReader } from '../../../application/webhooks/delivery-reader.ts';
import { deliveryDecider, scheduleDelivery } from '../../../domain/webhooks/delivery.ts';
import { eventually } from '../../support/eventually.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { answered, cause, dispatching } from './support.ts';

const ALIVE = new AbortController().signal;

const scheduleBody = async (node: TestNode, body: string): Promise<string> => {
  const id = uuidFromName(body);
  await node.commands.execute({
    tenantId: 'acme',
    decider: deliveryDecider,
    id,
    cause: cause(id),
    decide: (state) =>
      scheduleDelivery(state, { id, subscriptionId: 'one', event: 'e', ...storedBody(body) }),
  });
  return id;
};

describe('deliveries that are read together', () => {
  it('are as they are when each is read by itself', async () => {
    const { stores, clock, schedule } = await dispatching();
    const ids: string[] = [];
    for (let nth = 0; nth < 20; nth += 1) ids.push(await schedule(`body ${nth}`));
    const node = startNode({ ...stores, clock });
    const found = await new DeliveryReader(node).gather('acme', ids);
    const alone = new DeliveryReader(startNode({ ...stores, clock }));
    expect([...found.keys()]).to.deep.equal(ids);
    for (const [nth, id] of ids.entries()) {
      const known = found.get(id);
      const { head, body } = await alone.look('acme', id, {});
      expect(known?.head).to.deep.equal(head);
      expect(known?.body).to.deep.equal(body);
      expect(bodyOf(known?.body ?? []).toString()).to.equal(`body ${nth}`);
    }
  });

  it('are asked for in one question, and are only those that nothing has happened to', async () => {
    const { stores, clock, schedule, attemptsOf, node: first, answer } = await dispatching();
    answer(() => answered(500));
    const plain = await schedule('plain');
    const tried = await schedule('tried');
    await attemptsOf(first).make('acme', tried, ALIVE);
    const long = await scheduleBody(first, randomBytes(600_000).toString('base64'));
    let reads = 0;
    const events: EventStore = {
      ...stores.events,
      readStream: (...args) => {
        reads += 1;
        return stores.events.readStream(...args);
      },
    };
    const node = startNode({ ...stores, clock, events });
    const found = await new DeliveryReader(node).gather('acme', [plain, tried, long, uuidFromName('nobody')]);
    expect([...found.keys()]).to.deep.equal([plain]);
    expect(reads).to.equal(0);
  });

  it('take so much memory and no more: of long ones the rest is left for later', async () => {
    const { stores, clock, node: first } = await dispatching();
    const ids: string[] = [];
    for (let nth = 0; nth < 10; nth += 1) ids.push(await scheduleBody(first, `${nth}`.repeat(60_000)));
    const found = await new DeliveryReader(startNode({ ...stores, clock })).gather('acme', ids);
    expect([...found.keys()]).to.deep.equal(ids.slice(0, 4));
  });

  it('take so much memory and no more, however many lanes read ahead, and give it back', async () => {
    const { stores, clock, node: first } = await dispatching();
    const ids: string[] = [];
    for (let nth = 0; nth < 4; nth += 1) ids.push(await scheduleBody(first, `${nth}`.repeat(60_000)));
    let [reading, most] = [0, 0];
    const events: EventStore = {
      ...stores.events,
      readStreams: async (...args) => {
        reading += 1;
        most = Math.max(most, reading);
        await new Promise((resolve) => setImmediate(resolve));
        reading -= 1;
        return stores.events.readStreams(...args);
      },
    };
    const reader = new DeliveryReader(startNode({ ...stores, clock, events }));
    const lanes: ReadonlyMap<string, unknown>[] = [];
    for (let round = 0; round < 20; round += 1) {
      const some = Array.from({ length: 50 }, () => reader.gather('acme', ids));
      lanes.push(...(await Promise.all(some)));
    }
    const kept = lanes.flatMap((found) => [...found.values()]);
    expect(most).to.be.at.most(16);
    expect(kept.length * 60_000).to.be.within(16 * 1024 * 1024, 32 * 1024 * 1024);
    await eventually(() => expect(lanes.every(({ size }) => size === 0)).to.equal(true));
    expect([...(await reader.gather('acme', ids)).keys()]).to.deep.equal(ids);
  });

  it('that are long are not all read for nothing', async () => {
    const { stores, clock, node: first } = await dispatching();
    const long = randomBytes(600_000).toString('base64');
    const ids: string[] = [];
    for (let nth = 0; nth < 16; nth += 1) ids.push(await scheduleBody(first, `${nth} ${long}`));
    let read = 0;
    const events: EventStore = {
      ...stores.events,
      readStreams: async (...args) => {
        const found = await stores.events.readStreams(...args);
        read += found.length;
        return found;
      },
    };
    const found = await new DeliveryReader(startNode({ ...stores, clock, events })).gather('acme', ids);
    expect(found.size).to.equal(0);
    expect(read).to.equal(1);
  });

  it('are looked at anew once a while has passed: another node may have sent them', async () => {
    const { stores, clock, schedule, attemptsOf, calls, node: first } = await dispatching();
    const id = await schedule('a');
    const frozen = startNode({ ...stores, clock });
    const found = (await new DeliveryReader(frozen).gather('acme', [id])).get(id);
    if (found === undefined) throw new Error('not found');
    await attemptsOf(first).make('acme', id, ALIVE);
    expect(calls).to.have.length(1);
    const old = { ...found, readAt: found.readAt - 1_000 };
    expect(await attemptsOf(frozen).make('acme', id, ALIVE, { found: () => old })).not.to.have.property(
      'outcome',
    );
    expect(calls).to.have.length(1);
  });

  it('that another node has sent a moment ago are sent twice at most, the same, and recorded once', async () => {
    const { stores, clock, schedule, attemptsOf, calls, node: first } = await dispatching();
    const id = await schedule('a');
    const second = startNode({ ...stores, clock });
    const found = (await new DeliveryReader(second).gather('acme', [id])).get(id);
    await attemptsOf(first).make('acme', id, ALIVE);
    await attemptsOf(second).make('acme', id, ALIVE, { found: () => found });
    expect(calls).to.have.length(2);
    expect(calls[1]?.call.headers).to.deep.equal(calls[0]?.call.headers);
    expect(calls[1]?.call.body).to.deep.equal(calls[0]?.call.body);
    const recorded = await first.events.readAll({ filter: { types: ['DeliverySucceeded'] } });
    expect(recorded).to.have.length(1);
  });

  it('are as this node knows them where it knows more', async () => {
    const { node, schedule, replay, calls, attemptsOf } = await dispatching();
    const id = await schedule('a');
    node.states.drop(`acme.delivery-${id}`);
    const found = (await new DeliveryReader(node).gather('acme', [id])).get(id);
    await replay(id, 'r');
    await attemptsOf(node).make('acme', id, ALIVE, { found: () => found });
    expect(calls).to.have.length(1);
    const [record] = await node.events.readAll({ filter: { types: ['DeliverySucceeded'] } });
    expect(JSON.parse(record?.data ?? '{}')).to.deep.include({ replay_id: 'r' });
  });
});
