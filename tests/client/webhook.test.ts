import { expect } from 'chai';
import { headersOf, signingKeyOf } from '../../application/webhooks/signature.ts';
import { verifyWebhook, WebhookError } from '../../client/src/index.ts';
import { newWebhookSecret } from '../../infrastructure/webhook-secret.ts';
import {
  addRecord,
  created,
  OPEN,
  paidTenant,
  plainEntity,
  subscribe,
  WEBHOOKS,
} from '../e2e/webhooks/support.ts';
import { eventually } from '../support/server.ts';
import { closeReceivers, startReceiver } from '../support/webhook-receiver.ts';
import { endWorld, sharedWorld } from '../support/world.ts';

describe('verifyWebhook', () => {
  after(async () => {
    await closeReceivers();
    await endWorld();
  });

  const NOW = Date.UTC(2026, 10, 23);
  const secret = newWebhookSecret();
  const body = Buffer.from('{"id":"d","event":"webhook.test","data":{"title":"Größe 😀"}}');
  const headers = headersOf({
    event: 'webhook.test',
    deliveryId: 'd',
    attempt: 1,
    body,
    now: NOW,
    secret: signingKeyOf(secret),
  });
  const verified = (own: Record<string, string | undefined> = {}, now = NOW) =>
    verifyWebhook({ ...headers, ...own }, body, secret, { now });
  const refused = async (verifying: Promise<unknown>, why: string): Promise<void> => {
    const thrown = await verifying.catch((error: unknown) => error);
    expect(thrown, why).to.be.instanceOf(WebhookError);
  };

  it('accepts deliveries of a running server, with headers of Node and of the Fetch API', async () => {
    const world = await sharedWorld(OPEN);
    const tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
    const receiver = await startReceiver();
    const hook = await subscribe(tenant.admin, receiver.url);
    await addRecord(tenant.admin, 'crate', 'Größe 😀');
    const one = await eventually('a delivery', () => receiver.received[0]);
    expect(await verifyWebhook(one.headers, one.body, hook.secret)).to.deep.equal(one.envelope);
    const fetched = new Request('http://receiver.example', {
      method: 'POST',
      headers: Object.entries(one.headers).map(([name, value]): [string, string] => [name, String(value)]),
      body: new Uint8Array(one.body),
    });
    expect(await verifyWebhook(fetched.headers, await fetched.arrayBuffer(), hook.secret)).to.deep.equal(
      one.envelope,
    );
    const rotated = (await tenant.admin.api.post(`${WEBHOOKS}/${hook.id}/rotate-secret`)).as(created);
    await addRecord(tenant.admin, 'crate', 'again');
    const next = await eventually('a delivery', () => receiver.received[1]);
    for (const each of [hook.secret, rotated.secret]) {
      expect(await verifyWebhook(next.headers, next.body.toString(), each)).to.deep.equal(next.envelope);
    }
    await refused(verifyWebhook(one.headers, one.body, rotated.secret), 'a later secret');
  });

  it('accepts secrets of former versions, which are base64url', async () => {
    const former = `whsec_${'-_'.repeat(21)}A`;
    const signed = { event: 'e', deliveryId: 'd', attempt: 1, body, now: NOW, secret: signingKeyOf(former) };
    expect(await verifyWebhook(headersOf(signed), body, former, { now: NOW })).to.have.property('id', 'd');
  });

  it('refuses missing, wrong or old headers, another body and another secret', async () => {
    expect(await verified()).to.have.property('id', 'd');
    expect(await verified({ 'webhook-signature': `v1,AAAA v2,x ${headers['webhook-signature']}` })).to.be.an(
      'object',
    );
    const bad: Record<string, string | undefined>[] = [
      { 'webhook-id': undefined },
      { 'webhook-timestamp': undefined },
      { 'webhook-signature': undefined },
      { 'webhook-id': 'another' },
      { 'webhook-timestamp': `${NOW / 1000 + 1}` },
      { 'webhook-timestamp': `${NOW / 1000}.0` },
      { 'webhook-timestamp': '1e9' },
      { 'webhook-signature': '' },
      { 'webhook-signature': 'v1,' },
      { 'webhook-signature': 'v1,größe' },
      { 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v2,') },
      { 'webhook-signature': headers['webhook-signature']?.slice(0, -4) },
    ];
    for (const each of bad) await refused(verified(each), JSON.stringify(each));
    for (const shift of [-301_000, 301_000]) await refused(verified({}, NOW + shift), `${shift} ms`);
    for (const shift of [-299_000, 299_000]) expect(await verified({}, NOW + shift)).to.be.an('object');
    await refused(verifyWebhook(headers, `${body} `, secret, { now: NOW }), 'another body');
    await refused(verifyWebhook(headers, body, newWebhookSecret(), { now: NOW }), 'another secret');
  });
});
