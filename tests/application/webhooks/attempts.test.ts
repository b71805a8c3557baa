import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { uuidFromName } from '../../../application/request-context.ts';
import { streamName } from '../../../application/streams.ts';
import { storedBody } from '../../../application/webhooks/body.ts';
import { signatureOf } from '../../../application/webhooks/signature.ts';
import { deliveryDecider, scheduleDelivery } from '../../../domain/webhooks/delivery.ts';
import { eventually, gate, rejection } from '../../support/eventually.ts';
import { type Fault, faultyEvents } from '../../support/faults.ts';
import { startNode } from '../../support/node.ts';
import { answered, cause, deliveryOf, dispatching, writeSubscription } from './support.ts';

const ALIVE = new AbortController().signal;

describe('an attempt', () => {
  it('is signed over the very bytes with the present secret, and with the one before while it lasts', async () => {
    const { node, schedule, attemptsOf, calls, clock } = await dispatching();
    const id = await schedule('größer 😀\r\n.');
    await writeSubscription(node, 'acme', {
      type: 'WebhookSecretRotated',
      data: {
        subscription_id: 'one',
        secret: 'whsec_new',
        previous_until: new Date(clock.now() + 1).toISOString(),
      },
    });
    await attemptsOf(node).make('acme', id, ALIVE);
    const [first] = calls;
    const body = Buffer.from('größer 😀\r\n.');
    expect(first?.call).to.deep.include({ method: 'POST', url: 'https://one.example/', timeoutMs: 10_000 });
    expect(first?.call.maxResponseBytes).to.equal(16 * 1024);
    expect(Buffer.from(first?.call.body ?? '').equals(body)).to.equal(true);
    expect(first?.call.headers).to.deep.equal({
      'Content-Type': 'application/json',
      'User-Agent': 'Service-Webhooks/1.0',
      'X-Service-Event': 'e',
      'X-Service-Delivery': id,
      'X-Service-Timestamp': String(Math.floor(clock.now() / 1000)),
      'X-Service-Signature': signatureOf('whsec_new', body),
      'X-Service-Signature-Previous': signatureOf('whsec_one', body),
      'X-Service-Attempt': '1',
    });
    clock.advance(1);
    const later = await schedule('later');
    await attemptsOf(node).make('acme', later, ALIVE);
    expect(calls[1]?.call.headers).not.to.have.property('X-Service-Signature-Previous');
  });

  it('of a long body has the secret and the URL of when it has been read, and waits if that is paused', async () => {
    const { clock, stores, node, attemptsOf, calls } = await dispatching();
    const ids = ['a', 'b'].map((name) => uuidFromName(name));
    for (const id of ids) {
      const body = storedBody(randomBytes(600_000).toString('base64'));
      await node.commands.execute({
        tenantId: 'acme',
        decider: deliveryDecider,
        id,
        cause: cause(id),
        decide: (state) => scheduleDelivery(state, { id, subscriptionId: 'one', event: 'e', ...body }),
      });
    }
    let whileRead: () => Promise<unknown> = async () => undefined;
    const slow = startNode({
      ...stores,
      clock,
      events: {
        ...stores.events,
        readStream: async (stream, options) => {
          const read = await stores.events.readStream(stream, options);
          if (stream.includes('delivery-') && options?.from === 1) await whileRead();
          return read;
        },
      },
    });
    // What it remembers of both, so that nothing but the bodies is read.
    for (const id of ids) await slow.states.load('acme', deliveryDecider, id);
    await attemptsOf(slow).subscription('acme', 'one');
    const [first = '', second = ''] = ids;
    whileRead = () =>
      writeSubscription(
        slow,
        'acme',
        {
          type: 'WebhookSecretRotated',
          data: { subscription_id: 'one', secret: 'whsec_new', previous_until: new Date(0).toISOString() },
        },
        { type: 'WebhookChanged', data: { subscription_id: 'one', url: 'https://later.example/' } },
      );
    await attemptsOf(slow).make('acme', first, ALIVE);
    const [{ call } = expect.fail('nothing was sent')] = calls;
    expect(call.url).to.equal('https://later.example/');
    expect(call.headers['X-Service-Signature']).to.equal(
      signatureOf('whsec_new', Buffer.from(call.body ?? '')),
    );
    whileRead = () =>
      writeSubscription(slow, 'acme', {
        type: 'WebhookPaused',
        data: { subscription_id: 'one', reason: 'request' },
      });
    expect(await attemptsOf(slow).make('acme', second, ALIVE)).to.equal(undefined);
    expect(calls).to.have.length(1);
  });

  it('has a signature that anybody can compute', () => {
    // printf 'abc' | openssl dgst -sha256 -hmac whsec_test
    expect(signatureOf('whsec_test', Buffer.from('abc'))).to.match(/^sha256=[0-9a-f]{64}$/);
    expect(signatureOf('key', Buffer.from('The quick brown fox jumps over the lazy dog'))).to.equal(
      'sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8',
    );
  });

  it('is recorded once, whatever befalls the record', async () => {
    for (const faults of [
      ['unavailable before'],
      ['unavailable after'],
      ['lost race'],
      ['unavailable after', 'unavailable before', 'unavailable before'],
    ] as Fault[][]) {
      const { stores, clock, schedule, attemptsOf, calls, node, answer } = await dispatching();
      answer(() => answered(500));
      const id = await schedule('a');
      const shaky = startNode({ ...stores, clock, events: faultyEvents(stores.events, faults) });
      await attemptsOf(shaky).make('acme', id, ALIVE);
      expect(await deliveryOf(startNode({ ...stores, clock }), 'acme', id)).to.deep.include({
        attempts: 1,
        status: 'pending',
      });
      const recorded = await node.events.readAll({ filter: { types: ['DeliveryFailed'] } });
      expect([recorded.length, calls.length]).to.deep.equal([1, 1]);
    }
  });

  it('is made again under its number when the record could not be made at all', async () => {
    const { stores, clock, schedule, attemptsOf, calls, node } = await dispatching();
    const id = await schedule('a');
    const never = faultyEvents(
      stores.events,
      Array.from({ length: 50 }, () => 'unavailable before' as const),
    );
    const broken = startNode({ ...stores, clock, events: never });
    expect(await rejection(attemptsOf(broken).make('acme', id, ALIVE))).to.be.instanceOf(StoreUnavailable);
    await attemptsOf(node).make('acme', id, ALIVE);
    expect(calls.map(({ call }) => call.headers['X-Service-Attempt'])).to.deep.equal(['1', '1']);
    expect(await deliveryOf(node, 'acme', id)).to.deep.include({ attempts: 1, status: 'delivered' });
  });

  it('changes nothing when another node has made it meanwhile', async () => {
    const { stores, clock, schedule, attemptsOf, calls, node, answer } = await dispatching();
    const id = await schedule('a');
    const slow = gate();
    answer(async () => {
      await slow.passed;
      return answered(500);
    });
    const frozen = attemptsOf(node).make('acme', id, ALIVE);
    await eventually(() => expect(calls).to.have.length(1));
    answer(() => answered(200));
    const other = startNode({ ...stores, clock });
    await attemptsOf(other).make('acme', id, ALIVE);
    slow.open();
    await frozen;
    expect(calls).to.have.length(2);
    const recorded = await node.events.readAll({
      filter: { types: ['DeliveryFailed', 'DeliverySucceeded'] },
    });
    expect(recorded.map(({ type }) => type)).to.deep.equal(['DeliverySucceeded']);
  });

  it('is not recorded when it is given up', async () => {
    const { schedule, attemptsOf, node, answer } = await dispatching();
    const id = await schedule('a');
    const stop = new AbortController();
    answer(() => {
      stop.abort(new Error('stopping'));
      return answered(200);
    });
    expect(await rejection(attemptsOf(node).make('acme', id, stop.signal))).to.deep.include({
      message: 'stopping',
    });
    expect(await deliveryOf(node, 'acme', id)).to.deep.include({ attempts: 0, status: 'pending' });
  });

  it('keeps at most 500 characters of what went wrong, and none that cannot be shown', async () => {
    const { schedule, attemptsOf, node, answer } = await dispatching();
    const body = Buffer.concat([
      Buffer.from('a\u0000b\u001b[31m'),
      Buffer.from([0xff, 0xd8]),
      Buffer.from('😀'.repeat(600)),
    ]);
    answer(() => ({ kind: 'answered', status: 400, headers: {}, body, truncated: false }));
    const id = await schedule('a');
    await attemptsOf(node).make('acme', id, ALIVE);
    const { lastError } = await deliveryOf(node, 'acme', id);
    expect([...(lastError ?? '')].length).to.be.at.most(500);
    expect(lastError).to.match(/^HTTP 400: a b \[31m/);
    expect(lastError?.isWellFormed()).to.equal(true);
  });

  it('is not made before it is due, nor for what is paused', async () => {
    const { schedule, attemptsOf, node, calls, answer } = await dispatching();
    answer(() => answered(500));
    const id = await schedule('a');
    await attemptsOf(node).make('acme', id, ALIVE);
    await attemptsOf(node).make('acme', id, ALIVE);
    expect(calls).to.have.length(1);
    const other = await schedule('b');
    await writeSubscription(node, 'acme', {
      type: 'WebhookPaused',
      data: { subscription_id: 'one', reason: 'request' },
    });
    await attemptsOf(node).make('acme', other, ALIVE);
    expect(calls).to.have.length(1);
  });

  it('of what has just been made looks nothing up, unless the body is in parts', async () => {
    const { node, attemptsOf, calls } = await dispatching();
    let reads = 0;
    const counted: typeof node = {
      ...node,
      events: {
        ...node.events,
        readStream: (...asked) => {
          reads += 1;
          return node.events.readStream(...asked);
        },
      },
    };
    const attempts = attemptsOf(counted);
    const long = randomBytes(600_000).toString('base64');
    for (const body of ['short', long]) {
      const id = uuidFromName(body);
      await node.commands.execute({
        tenantId: 'acme',
        decider: deliveryDecider,
        id,
        cause: cause(id),
        decide: (state) =>
          scheduleDelivery(state, { id, subscriptionId: 'one', event: 'e', ...storedBody(body) }),
      });
      const stream = streamName('acme', 'delivery', id);
      const [first] = await node.events.readStream(stream, { limit: 1 });
      if (first === undefined) throw new Error('nothing was scheduled');
      await attempts.make('acme', id, ALIVE, { made: node.codec.decode(first) });
      expect(Buffer.from(calls.at(-1)?.call.body ?? '').toString()).to.equal(body);
      expect(reads > 0, 'looked up').to.equal(body === long);
      expect((await deliveryOf(node, 'acme', id)).status).to.equal('delivered');
    }
  });

  it('finds the whole body again on a node that remembers nothing', async () => {
    const { stores, clock, node, attemptsOf, calls } = await dispatching();
    for (const body of ['short', randomBytes(600_000).toString('base64')]) {
      const id = uuidFromName(body);
      await node.commands.execute({
        tenantId: 'acme',
        decider: deliveryDecider,
        id,
        cause: cause(id),
        decide: (state) =>
          scheduleDelivery(state, { id, subscriptionId: 'one', event: 'e', ...storedBody(body) }),
      });
      const other = startNode({ ...stores, clock });
      await attemptsOf(other).make('acme', id, ALIVE);
      expect(Buffer.from(calls.at(-1)?.call.body ?? '').toString()).to.equal(body);
    }
    expect(calls).to.have.length(2);
  });

  it('is not made with a secret that was destroyed, though it has signed before', async () => {
    const { node, schedule, attemptsOf, calls } = await dispatching();
    const attempts = attemptsOf(node);
    await attempts.make('acme', await schedule('a'), ALIVE);
    expect(calls).to.have.length(1);
    const next = await schedule('b');
    await node.keys.destroy('acme/webhook-one');
    expect(await attempts.make('acme', next, ALIVE)).to.equal(undefined);
    expect(calls).to.have.length(1);
    await attempts.make('acme', await schedule('c', 'two'), ALIVE);
    expect(calls, 'others are').to.have.length(2);
  });

  it('may use connections of its subscription, and of no other', async () => {
    const { node, schedule, attemptsOf, calls } = await dispatching();
    for (const [name, hook] of [
      ['a', 'one'],
      ['b', 'two'],
      ['c', 'one'],
    ] as const) {
      await attemptsOf(node).make('acme', await schedule(name, hook), ALIVE);
    }
    expect(calls.map(({ call }) => call.reuse)).to.deep.equal(['acme/one', 'acme/two', 'acme/one']);
  });

  it('tells that it was delivered before that is recorded, and of nothing else', async () => {
    const { node, schedule, attemptsOf, answer } = await dispatching();
    let told = 0;
    const id = await schedule('a');
    const delivered = async () => {
      told += 1;
      expect(await deliveryOf(node, 'acme', id)).to.deep.include({ status: 'pending', attempts: 0 });
    };
    let looked: Promise<void> | undefined;
    await attemptsOf(node).make('acme', id, ALIVE, {
      delivered: () => {
        looked = delivered();
      },
    });
    await looked;
    answer(() => answered(500));
    const other = await schedule('b');
    await attemptsOf(node).make('acme', other, ALIVE, {
      delivered: () => {
        told += 1;
      },
    });
    expect(told).to.equal(1);
  });
});
