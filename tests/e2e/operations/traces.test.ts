import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import type { Client } from '../../support/client.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { eventually } from '../../support/server.ts';
import { listen } from '../../support/socket.ts';
import { hasPython, verdictOfArgs, verdictOfPython } from '../../support/verifiers.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { BASE, endWorld, startWorld, talk, type World } from '../../support/world.ts';
import { OPEN, paidTenant, plainEntity, subscribe } from '../webhooks/support.ts';

const PROOF = '/api/v1/tenant/audit/proof';

/** Decision 60. */
describe('Traces', () => {
  let receiver: OtlpReceiver;
  let world: World;

  before(async () => {
    receiver = await startOtlpReceiver();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=open%20sesame',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '50',
    };
    world = await startWorld({ env: { ...OPEN, ...env } });
  });
  after(async () => {
    await endWorld();
    await closeReceivers();
    await receiver.close();
  });

  /** Ids of a new trace, and the request options of a client that traces. */
  const newTrace = () => {
    const [trace, parent] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
    return { trace, parent, options: { headers: { traceparent: `00-${trace}-${parent}-01` } } };
  };
  const spansOf = (trace: string): ReceivedSpan[] =>
    receiver.spans.filter(({ traceId }) => traceId === trace);
  const find = (trace: string, name: RegExp): Promise<ReceivedSpan> =>
    eventually(`a span ${name}`, () => spansOf(trace).find((span) => name.test(span.name)) ?? false);
  /** Waits until all spans on the path to a span have arrived, since spans that end later are sent later. */
  const expectPath = (span: ReceivedSpan, path: readonly string[]): Promise<unknown> =>
    eventually(`the spans before ${span.name}`, () => pathTo(span).length >= path.length).then(() =>
      expect(pathTo(span)).to.deep.equal(path),
    );
  /** Names of the spans from the trace's first one to this one. */
  const pathTo = (span: ReceivedSpan): string[] => {
    const parent = receiver.spans.find(({ spanId }) => spanId === span.parentSpanId);
    return [...(parent === undefined ? [] : pathTo(parent)), span.name];
  };

  /** Expects the export to hold the text, and both verifiers to accept the export. */
  const isInVerifiedExport = async (api: Client, wanted: string): Promise<void> => {
    const folder = await mkdtemp(join(tmpdir(), 'traces-'));
    try {
      const accept = { headers: { accept: 'application/x-ndjson' } };
      const [exported, proof] = [await api.get('/api/v1/tenant/audit/events', accept), await api.get(PROOF)];
      expect(exported.text).to.contain(wanted);
      const [events, head] = [join(folder, 'events.ndjson'), join(folder, 'proof.json')];
      await writeFile(events, exported.text);
      await writeFile(head, proof.text);
      const { public_key } = proof.as(z.looseObject({ public_key: z.string() }));
      const args = ['--export', events, '--public-key', public_key, '--proof', head];
      expect((await verdictOfArgs(args)).verified).to.equal(true);
      if (hasPython()) expect((await verdictOfPython(...args)).verified).to.equal(true);
    } finally {
      await rm(folder, { recursive: true });
    }
  };

  it('lead from a request through the append, read models and subscribers to the webhook', async () => {
    const tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
    const hook = await startReceiver();
    await subscribe(tenant.admin, hook.url);
    const { trace, parent, options } = newTrace();
    const path = '/api/v1/tenant/entities/crate/records';
    const made = await tenant.admin.api.post(path, { values: { title: 'A crate of Ada' } }, options);
    expect(made.status).to.equal(201);
    const called = await find(trace, /^webhook$/);
    await expectPath(called, [
      'POST /api/v1/tenant/entities/:name/records',
      'command record',
      'subscriber webhook-fan-out',
      'command delivery',
      'webhook',
    ]);
    await find(trace, /^append$/);
    await find(trace, /^projection records$/);
    const [server] = spansOf(trace).filter(({ name }) => name.startsWith('POST'));
    expect(server?.parentSpanId).to.equal(parent);
    // The receiver gets the span of the call as its parent.
    expect(hook.received[0]?.headers.traceparent).to.equal(`00-${trace}-${called.spanId}-01`);
    await isInVerifiedExport(tenant.admin.api, `00-${trace}-`);
  });

  it('lead to the envelope of the socket, and hold no text, name or address of a person', async () => {
    const tenant = await paidTenant(world);
    const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const room = await talk(ada, ben);
    const socket = await listen(world.server, ben.token);
    const { trace, options } = newTrace();
    const body = 'A private word.';
    expect((await ada.api.post(`${BASE}/${room}/messages`, { body }, options)).status).to.equal(201);
    await socket.messages(1);
    await expectPath(await find(trace, /^socket send$/), [
      'POST /api/v1/tenant/messaging/conversations/:id/messages',
      'command conversation',
      'socket send',
    ]);
    socket.close();
    const sent = receiver.texts.join();
    for (const personal of [body, ada.email, ben.email, ada.id, room, 'A crate of Ada', ada.token]) {
      expect(sent).not.to.contain(personal);
    }
    expect(receiver.headers[0]?.['x-api-key']).to.equal('open sesame');
    expect(receiver.resource.get('service.name')).to.equal('workflow-platform');
    expect(receiver.resource.get('deployment.environment.name')).to.equal('test');
    expect(world.server.output()).to.contain(`"trace_id":"${trace}"`);
  });

  it('begin anew for a malformed parent, and are not recorded when the parent decided so', async () => {
    const tenant = await world.tenant();
    const { trace } = newTrace();
    for (const traceparent of [`00-${trace}-0000000000000000-01`, `01-${trace}-1111111111111111-01`, 'x']) {
      expect((await tenant.admin.api.get('/api/v1/tenant/me', { headers: { traceparent } })).status).to.equal(
        200,
      );
    }
    const unwanted = newTrace();
    const traceparent = unwanted.options.headers.traceparent.replace(/01$/, '00');
    expect((await tenant.admin.api.get('/api/v1/tenant/me', { headers: { traceparent } })).status).to.equal(
      200,
    );
    await tenant.admin.api.get('/api/v1/tenant/me', newTrace().options);
    const { trace: last, options } = newTrace();
    await tenant.admin.api.get('/api/v1/tenant/me', options);
    await find(last, /^GET/);
    expect(spansOf(trace)).to.deep.equal([]);
    expect(spansOf(unwanted.trace)).to.deep.equal([]);
  });

  it('that cannot be sent change nothing else, and are reported once', async () => {
    const tenant = await world.tenant();
    await receiver.close();
    for (let nth = 0; nth < 20; nth += 1) {
      expect((await tenant.admin.api.get('/api/v1/tenant/me')).status).to.equal(200);
    }
    await eventually('the line', () => world.server.output().includes('traces cannot be sent'), 60_000);
    expect((await world.server.stop()).code).to.equal(0);
    expect(world.server.output()).not.to.contain('open sesame');
  });
});
