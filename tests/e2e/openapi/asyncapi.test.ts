import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'chai';
import { z } from 'zod';
import { WEBHOOK_EVENTS } from '../../../domain/webhooks/event-types.ts';
import { GENERATED, installTools, run } from '../../support/openapi-tools.ts';
import { eventually } from '../../support/server.ts';
import { listen } from '../../support/socket.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, say, sharedWorld, type TestTenant, talk, token, type World } from '../../support/world.ts';
import { OPEN, subscribe, test } from '../webhooks/support.ts';

const shape = z.object({
  asyncapi: z.string(),
  components: z.object({
    messages: z.record(z.string(), z.object({ payload: z.object({ $ref: z.string() }) })),
    schemas: z.record(z.string(), z.unknown()),
  }),
});

describe('GET /asyncapi.json', function () {
  this.timeout(120_000);
  let world: World;
  let tenant: TestTenant;
  let text: string;
  let matches: (message: string, payload: unknown) => boolean;

  before(async () => {
    world = await sharedWorld(OPEN);
    tenant = await world.tenant();
    await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'pro' });
    text = (await world.anybody.get('/asyncapi.json')).text;
    const { components } = shape.parse(JSON.parse(text));
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    ajv.addSchema({ components }, 'events');
    matches = (message, payload) => {
      const ref = components.messages[message]?.payload.$ref ?? '';
      return ajv.validate({ $ref: `events${ref}` }, payload) === true;
    };
  });
  after(async () => {
    await closeReceivers();
    await endWorld();
  });

  it('is valid AsyncAPI 3: the parser reports nothing', async () => {
    await installTools();
    mkdirSync(GENERATED, { recursive: true });
    writeFileSync(join(GENERATED, 'asyncapi.json'), text);
    const found = await run(process.execPath, ['check-asyncapi.mjs', 'generated/asyncapi.json']);
    expect(z.array(z.string()).parse(JSON.parse(found))).to.deep.equal([]);
  });

  it('describes each envelope that a socket gets', async () => {
    const [ann, bob] = [await tenant.person('Ann'), await tenant.person('Bob')];
    const socket = await listen(world.server, bob.token);
    await say(ann, await talk(ann, bob), `Hello ${token(bob)}`);
    await eventually('both envelopes', () => socket.seen.length >= 3);
    socket.close();
    for (const envelope of socket.seen) {
      const name = envelope.kind === 'system' ? envelope.event : envelope.kind;
      expect(matches(name, envelope), JSON.stringify(envelope)).to.equal(true);
      expect(matches(name, { ...envelope, position: 1 })).to.equal(false);
    }
    expect(new Set(socket.seen.map(({ kind }) => kind))).to.include.keys('system', 'message', 'notification');
  });

  it('describes each delivery of a webhook', async () => {
    const receiver = await startReceiver();
    const { id } = await subscribe(tenant.admin, receiver.url);
    await test(tenant.admin, id);
    const delivery = await eventually('the test delivery', () => receiver.received[0]);
    const body: unknown = JSON.parse(String(delivery.body));
    expect(matches('webhook.test', body), String(delivery.body)).to.equal(true);
    const { components } = shape.parse(JSON.parse(text));
    expect(components.messages).to.include.keys(...WEBHOOK_EVENTS);
  });

  it('is shown as a page without scripts, to which / and /docs/ lead', async () => {
    const page = await fetch(`${world.server.base}/docs/events`);
    expect(page.headers.get('content-security-policy')).to.contain("default-src 'none'");
    const html = await page.text();
    expect(html)
      .to.contain('4413')
      .and.contain('job.transition')
      .and.not.match(/<script|https?:/);
    for (const at of ['/', '/docs/']) {
      const answer = await fetch(world.server.base + at);
      expect(new URL(answer.url).pathname, at).to.equal('/docs');
    }
  });
});
