import { createHmac, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { severalTicks, untilPasses } from '../../support/eventually.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { startNode, type TestNode } from '../../support/node.ts';
import { answered, deliveryOf, running, writeSubscription } from './support.ts';

/** A body that is stored compressed and in several events. */
const LONG = randomBytes(600_000).toString('base64');
const MINUTE = 60_000;

const signed = (secret: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const rotatedTo = (secret: string, previousUntil: number) =>
  ({
    type: 'WebhookSecretRotated',
    data: { subscription_id: 'one', secret, previous_until: new Date(previousUntil).toISOString() },
  }) as const;

describe('A dispatched webhook', () => {
  const started = running();

  it('carries the stored bytes, the specified headers and a signature with the current secret', async () => {
    const { run, schedule, calls, clock } = await started();
    run();
    const body = 'größer 😀\r\n.';
    const id = await schedule(body);
    await untilPasses(() => expect(calls).to.have.length(1));
    const [{ call } = expect.fail('nothing was sent')] = calls;
    expect(call).to.deep.include({ method: 'POST', url: 'https://one.example/', timeoutMs: 10_000 });
    expect(call.maxResponseBytes).to.equal(16 * 1024);
    expect(Buffer.from(call.body ?? '').toString()).to.equal(body);
    const { 'webhook-signature': standard, ...headers } = call.headers;
    expect(standard).to.match(/^v1,[A-Za-z0-9+/]{43}=$/);
    const timestamp = String(Math.floor(clock.now() / 1000));
    expect(headers).to.deep.equal({
      'Content-Type': 'application/json',
      'User-Agent': 'Service-Webhooks/1.0',
      'X-Service-Event': 'e',
      'X-Service-Delivery': id,
      'X-Service-Timestamp': timestamp,
      'X-Service-Signature': signed('whsec_one', body),
      'X-Service-Attempt': '1',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
    });
  });

  it('is signed with the previous secret too until its grace period ends', async () => {
    const { run, schedule, calls, clock, node } = await started();
    await writeSubscription(node, 'acme', rotatedTo('whsec_new', clock.now() + 1));
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    expect(calls[0]?.call.headers).to.deep.include({
      'X-Service-Signature': signed('whsec_new', 'a'),
      'X-Service-Signature-Previous': signed('whsec_one', 'a'),
    });
    clock.advance(1);
    await schedule('b');
    await untilPasses(() => expect(calls).to.have.length(2));
    expect(calls[1]?.call.headers).not.to.have.property('X-Service-Signature-Previous');
  });

  it('is sent complete by another node, with a short body or one in parts', async () => {
    const { run, schedule, calls, stores, clock } = await started();
    const ids = [await schedule('short'), await schedule('long', 'one', 'acme', LONG)];
    run(startNode({ ...stores, clock }));
    await untilPasses(() => expect(calls).to.have.length(2));
    const bodies = new Map(
      calls.map(({ call }) => [call.headers['X-Service-Delivery'], Buffer.from(call.body ?? '').toString()]),
    );
    expect(ids.map((id) => bodies.get(id))).to.deep.equal(['short', LONG]);
  });

  /** A dispatcher with an action that runs while it reads the long body of a delivery. */
  const readingSlowly = async (happens: (sender: TestNode) => Promise<unknown>) => {
    const village = await started();
    const { stores, clock, schedule, run } = village;
    let isRead = false;
    const events: EventStore = {
      ...stores.events,
      readStream: async (stream, options) => {
        const read = await stores.events.readStream(stream, options);
        if (!isRead && read.some(({ type }) => type === 'DeliveryBodyContinued')) {
          isRead = true;
          await happens(sender);
        }
        return read;
      },
    };
    await schedule('long', 'one', 'acme', LONG);
    const sender = startNode({ ...stores, clock, events });
    run(sender);
    await untilPasses(() => expect(isRead).to.equal(true));
    return village;
  };

  it('goes to the URL that was set while its long body was read', async () => {
    const data = { subscription_id: 'one', url: 'https://later.example/' };
    const { calls } = await readingSlowly((sender) =>
      writeSubscription(sender, 'acme', { type: 'WebhookChanged', data }),
    );
    await untilPasses(() => expect(calls).to.have.length(1));
    expect(calls[0]?.call.url).to.equal('https://later.example/');
  });

  it('is signed with the secret that was set while its long body was read', async () => {
    const { calls } = await readingSlowly((sender) =>
      writeSubscription(sender, 'acme', rotatedTo('whsec_new', 0)),
    );
    await untilPasses(() => expect(calls).to.have.length(1));
    expect(calls[0]?.call.headers['X-Service-Signature']).to.equal(signed('whsec_new', LONG));
  });

  it('waits when its subscription was paused while its long body was read', async () => {
    const data = { subscription_id: 'one', reason: 'request' } as const;
    const { calls, schedule } = await readingSlowly((sender) =>
      writeSubscription(sender, 'acme', { type: 'WebhookPaused', data }),
    );
    await schedule('b', 'two');
    await untilPasses(() => expect(calls).to.have.length(1));
    await severalTicks(100);
    expect(calls.map(({ call }) => call.url)).to.deep.equal(['https://two.example/']);
  });

  it('is not sent when its secret was destroyed after an earlier use', async () => {
    const { run, schedule, calls, node } = await started();
    run();
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    await node.keys.destroy('acme/webhook-one');
    await schedule('b');
    await schedule('c', 'two');
    await untilPasses(() => expect(calls).to.have.length(2));
    await severalTicks(100);
    expect(calls.map(({ call }) => call.url)).to.deep.equal(['https://one.example/', 'https://two.example/']);
  });

  it('is signed with the new secret alone when a restore has lost the key of the previous one', async () => {
    const { run, schedule, calls, stores, clock } = await started();
    const restored = startNode({ ...stores, keyStore: memoryKeyStore(), clock });
    await writeSubscription(restored, 'acme', rotatedTo('whsec_new', clock.now() + MINUTE));
    run(restored);
    await schedule('a');
    await untilPasses(() => expect(calls).to.have.length(1));
    expect(calls[0]?.call.headers).to.include({ 'X-Service-Signature': signed('whsec_new', 'a') });
    expect(calls[0]?.call.headers).not.to.have.property('X-Service-Signature-Previous');
  });

  it('fails when its secret cannot be opened although its subscription exists, as after a restore', async () => {
    const { run, schedule, calls, node } = await started();
    await node.keys.destroy('acme/webhook-one');
    run();
    const id = await schedule('a');
    const delivery = await untilPasses(async () => {
      const found = await deliveryOf(node, 'acme', id);
      expect(found.attempts).to.equal(1);
      return found;
    });
    expect(delivery).to.deep.include({ status: 'pending', responseCode: null });
    expect(delivery.lastError).to.match(/^The signing secret cannot be opened/);
    expect(calls).to.deep.equal([]);
  });

  it('reuses connections of its own subscription only', async () => {
    const { run, schedule, calls } = await started();
    run();
    for (const [nth, hook] of ['one', 'two', 'one'].entries()) {
      await schedule(`${nth}`, hook);
      await untilPasses(() => expect(calls).to.have.length(nth + 1));
    }
    expect(calls.map(({ call }) => call.reuse)).to.deep.equal(['acme/one', 'acme/two', 'acme/one']);
  });

  it('keeps at most 500 characters of an error answer, and no control characters', async () => {
    const { run, schedule, node, answer } = await started();
    const body = Buffer.concat([
      Buffer.from('a\u0000b\u001b[31m'),
      Buffer.from([0xff, 0xd8]),
      Buffer.from('😀'.repeat(600)),
    ]);
    answer(() => ({ kind: 'answered', status: 400, headers: {}, body, truncated: false }));
    run();
    const id = await schedule('a');
    const { lastError } = await untilPasses(async () => {
      const delivery = await deliveryOf(node, 'acme', id);
      expect(delivery.attempts).to.equal(1);
      return delivery;
    });
    expect([...(lastError ?? '')].length).to.be.at.most(500);
    expect(lastError).to.match(/^HTTP 400: a b \[31m/);
    expect(lastError?.isWellFormed()).to.equal(true);
  });

  it('does not delay the next delivery when its own stored body cannot be read', async () => {
    const { run, schedule, calls, stores, clock, answer, node, replay } = await started();
    answer(() => answered(500));
    const first = run();
    const ids = [await schedule('a'), await schedule('b')];
    await untilPasses(async () => {
      clock.advance(130 * MINUTE);
      for (const id of ids) expect((await deliveryOf(node, 'acme', id)).status).to.equal('dead');
    });
    await first.end();
    answer(() => answered(200));
    calls.length = 0;
    for (const [nth, id] of ids.entries()) await replay(id, 'r', `order ${nth}`);
    const torn: EventStore = {
      ...stores.events,
      readStream: async (stream, options) =>
        (await stores.events.readStream(stream, options)).map((event) =>
          stream.endsWith(ids[0] ?? '') && event.type === 'DeliveryScheduled'
            ? { ...event, data: event.data.slice(0, -1) }
            : event,
        ),
    };
    run(startNode({ ...stores, clock, events: torn }), { owner: 'other' });
    await untilPasses(() => {
      clock.advance(1000);
      expect(calls.map(({ call }) => call.headers['X-Service-Delivery'])).to.deep.equal([ids[1]]);
    });
  });
});
