import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { makeAuthority } from '../../support/certificates.ts';
import {
  AUTHORITY,
  closeRawReceivers,
  secureEnvironment,
  startRawReceiver,
  startSecureReceiver,
} from '../../support/https-receiver.ts';
import { startNameServer } from '../../support/name-server.ts';
import { eventually } from '../../support/server.ts';
import { closeReceivers, verifies } from '../../support/webhook-receiver.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { addRecord, ofStatus, paidTenant, plainEntity, subscribe, test, WEBHOOKS } from './support.ts';

const HEAD = 'HTTP/1.1 500 No\r\nContent-Type: text/plain\r\n';
const IN_TIME = /^There was no answer in time\.$/;
const ENDED = /^The connection (was reset|ended before there was an answer|could not be made, or broke)\.$/;

describe('Webhooks by HTTPS', () => {
  let world: World;
  let tenant: TestTenant;
  let names: Awaited<ReturnType<typeof startNameServer>>;
  let addresses: readonly string[] = ['127.0.0.1'];

  before(async () => {
    names = await startNameServer(() => ({ addresses }));
    const preload = join(import.meta.dirname, '../../support/ask-name-server.ts');
    const env = {
      ...(await secureEnvironment()),
      NODE_OPTIONS: `--import=${preload}`,
      TEST_NAME_SERVER: names.address,
    };
    world = await startWorld({ env });
    tenant = await paidTenant(world);
    await plainEntity(tenant, 'crate');
  });
  afterEach(async () => {
    const list = (await tenant.admin.api.get(`${WEBHOOKS}?limit=200`)).json;
    for (const { id } of list as { id: string }[]) await tenant.admin.api.delete(`${WEBHOOKS}/${id}`);
    await Promise.all([closeReceivers(), closeRawReceivers()]);
  });
  after(async () => {
    await endWorld();
    await names.stop();
  });

  it('are sent to a server with a valid certificate, with every header, up to five times', async () => {
    const receiver = await startSecureReceiver(() => 503);
    const hook = await subscribe(tenant.admin, receiver.url);
    const id = await addRecord(tenant.admin, 'crate', 'Zürich 😀 \u2028');
    const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(dead).to.deep.include({ attempts: 5, response_code: 503 });
    expect(receiver.received).to.have.length(5);
    receiver.received.forEach((one, index) => {
      const { headers, envelope } = one;
      expect(headers).to.include({
        'content-type': 'application/json',
        'user-agent': 'Service-Webhooks/1.0',
        'x-service-event': 'entity.created',
        'x-service-delivery': dead?.id,
        'x-service-attempt': String(index + 1),
      });
      expect(headers['x-service-timestamp']).to.match(/^\d{10}$/);
      expect(envelope).to.include({ id: dead?.id, event: 'entity.created', tenant_id: tenant.id });
      expect(envelope.data).to.include({ entity_id: id });
      expect(verifies(one, hook.secret)).to.equal(true);
      expect(verifies(one, hook.secret.replace('whsec_', ''))).to.equal(false);
    });
  });

  it('send nothing to a server without a valid certificate', async () => {
    let calls = 0;
    const hear = (): void => {
      calls += 1;
    };
    const stranger = makeAuthority('A stranger').issue(['127.0.0.1']);
    const expired = AUTHORITY.issue(['127.0.0.1'], Date.now() - 1000);
    const another = AUTHORITY.issue(['another.example']);
    for (const [certificate, error] of [
      [stranger, /not of a trusted authority/],
      [expired, /has expired/],
      [another, /is for another host/],
    ] as const) {
      const hook = await subscribe(tenant.admin, await startRawReceiver(hear, certificate));
      await test(tenant.admin, hook.id);
      const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
      expect(dead).to.deep.include({ response_code: null, attempts: 5 });
      expect(dead?.last_error).to.match(error);
    }
    expect(calls).to.equal(0);
  });

  it('survive misbehaving receivers, which count as failures', async () => {
    const inside = await startSecureReceiver();
    let written = 0;
    const megabyte = Buffer.alloc(1024 * 1024, 'x');
    const pour = (socket: import('node:tls').TLSSocket, left: number): void => {
      if (left === 0 || socket.destroyed) return;
      socket.write(megabyte, (error) => {
        if (error) return;
        written += megabyte.length;
        pour(socket, left - 1);
      });
    };
    const bomb = gzipSync(Buffer.alloc(60 * 1024 * 1024));
    const bad: Record<string, [Parameters<typeof startRawReceiver>[0], RegExp, number | null]> = {
      'says nothing': [() => undefined, IN_TIME, null],
      'drips headers': [
        (socket) => {
          const timer = setInterval(() => socket.write('H'), 100);
          socket.on('close', () => clearInterval(timer));
        },
        /./,
        null,
      ],
      'drips a body': [
        (socket) => {
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n');
          const timer = setInterval(() => socket.write('x'), 100);
          socket.on('close', () => clearInterval(timer));
        },
        IN_TIME,
        null,
      ],
      'answers 60 MB': [
        (socket) => {
          socket.write(`${HEAD}Content-Length: ${60 * megabyte.length}\r\n\r\n`);
          pour(socket, 60);
        },
        /^HTTP 500: x+$/,
        500,
      ],
      'answers a gzip bomb': [
        (socket) => {
          socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
          socket.end(bomb);
        },
        /^HTTP 500/,
        500,
      ],
      resets: [(socket) => socket.destroy(), ENDED, null],
      'closes its half': [(socket) => socket.end(), ENDED, null],
      'answers no HTTP': [(socket) => socket.end('SSH-2.0-OpenSSH\r\n\r\n'), /not valid HTTP|broke\.$/, null],
      'has huge headers': [
        (socket) => socket.end(`${HEAD}X-Large: ${'x'.repeat(200_000)}\r\nContent-Length: 0\r\n\r\n`),
        /too many headers/,
        null,
      ],
      'never comes to the point': [
        (socket) => {
          const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 50);
          socket.on('close', () => clearInterval(timer));
        },
        IN_TIME,
        null,
      ],
      'switches protocols': [
        (socket) => socket.end('HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
        /./,
        null,
      ],
      'sends trailers': [
        (socket) =>
          socket.end(
            `${HEAD}Transfer-Encoding: chunked\r\nTrailer: X-A\r\n\r\n2\r\nno\r\n0\r\nX-A: b\r\n\r\n`,
          ),
        /^HTTP 500: no$/,
        500,
      ],
      'sends what is no text': [
        (socket) =>
          socket.end(
            Buffer.concat([
              Buffer.from(`${HEAD}Content-Length: 6\r\n\r\n`),
              Buffer.from([0xff, 0xfe, 0x00, 0x1b, 0xc3, 0x28]),
            ]),
          ),
        /^HTTP 500/,
        500,
      ],
      'redirects inside': [
        (socket) => socket.end(`HTTP/1.1 308 Moved\r\nLocation: ${inside.url}\r\nContent-Length: 0\r\n\r\n`),
        /^HTTP 308$/,
        308,
      ],
    };
    const hookOf = async (kind: string, url: string, error: RegExp, code: number | null) => {
      const hook = await subscribe(tenant.admin, url, { description: kind });
      await test(tenant.admin, hook.id);
      return { kind, hook, error, code };
    };
    const gone = await startSecureReceiver();
    await gone.close();
    const hooks = await Promise.all([
      hookOf('is not there', gone.url, /^The connection was refused\.$/, null),
      ...Object.entries(bad).map(async ([kind, [act, error, code]]) =>
        hookOf(kind, await startRawReceiver(act), error, code),
      ),
    ]);
    for (const { kind, hook, error, code } of hooks) {
      const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1, 40_000);
      expect(dead, kind).to.deep.include({ attempts: 5, response_code: code });
      expect(dead?.last_error, kind).to.match(error);
      expect(dead?.last_error?.isWellFormed(), kind).to.equal(true);
    }
    expect(inside.received, 'nobody follows a redirect').to.deep.equal([]);
    // Five attempts, each of which also fills the buffers on the way.
    expect(written).to.be.below(60 * megabyte.length);
    const fine = await subscribe(tenant.admin, inside.url);
    await test(tenant.admin, fine.id);
    await ofStatus(tenant.admin, fine.id, 'delivered', 1);
  }).timeout(90_000);

  it('check the name’s present addresses at each attempt', async () => {
    const receiver = await startSecureReceiver(() => 500, { host: 'moves.example' });
    for (const moved of [['10.0.0.1'], ['127.0.0.1', '169.254.169.254'], ['::1'], ['::ffff:127.0.0.1']]) {
      addresses = ['127.0.0.1'];
      receiver.received.length = 0;
      receiver.behave(() => {
        addresses = moved;
        return 500;
      });
      const hook = await subscribe(tenant.admin, receiver.url);
      const id = await test(tenant.admin, hook.id);
      const [failed] = await ofStatus(tenant.admin, hook.id, 'failed', 1);
      expect(failed, moved.join()).to.deep.include({ id, attempts: 2, response_code: null });
      expect(failed?.last_error)
        .to.match(/address that must not be called/)
        .and.not.to.match(/\d\.\d/);
      expect(receiver.received).to.have.length(1);
      const asked = names.asked.length;
      addresses = ['127.0.0.1'];
      receiver.behave(() => 200);
      await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${id}/replay`);
      const [done] = await ofStatus(tenant.admin, hook.id, 'delivered', 1);
      expect(done).to.deep.include({ id, attempts: 3 });
      expect(names.asked.slice(asked)).to.include('moves.example A');
      await tenant.admin.api.delete(`${WEBHOOKS}/${hook.id}`);
    }
    // A URL whose name has an address that must not be called is refused when it is saved.
    addresses = ['192.168.1.1'];
    const refused = await tenant.admin.api.post(WEBHOOKS, { url: receiver.url, events: '*' });
    expect([refused.status, refused.error]).to.deep.equal([422, 'url_refused']);
    expect(refused.json).to.have.nested.property('details.reason', 'resolved_address');
    addresses = ['127.0.0.1'];
  }).timeout(40_000);

  it('are retried while the name cannot be looked up', async () => {
    const receiver = await startSecureReceiver(() => 200, { host: 'hooks.example' });
    addresses = ['127.0.0.1'];
    const hook = await subscribe(tenant.admin, receiver.url);
    addresses = [];
    const id = await test(tenant.admin, hook.id);
    const [dead] = await ofStatus(tenant.admin, hook.id, 'dead', 1);
    expect(dead).to.deep.include({ id, attempts: 5, response_code: null });
    addresses = ['127.0.0.1'];
    await tenant.admin.api.post(`${WEBHOOKS}/deliveries/${id}/replay`);
    await eventually('the replay', () => receiver.received.length === 1);
    await ofStatus(tenant.admin, hook.id, 'delivered', 1);
  });
});
