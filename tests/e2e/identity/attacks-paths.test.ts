import { expect } from 'chai';
import { type RawAnswer, sendRaw } from '../../support/raw.ts';
import { endWorld, type Member, sharedWorld, type World } from '../../support/world.ts';

/** Each route has one spelling, so that a proxy's checks of paths match the server's. */
describe('Respelled request targets', () => {
  let world: World;
  let eve: Member;

  before(async () => {
    world = await sharedWorld();
    eve = (await world.tenant()).admin;
  });
  after(endWorld);

  const send = async (target: string, token?: string, lines: readonly string[] = []): Promise<RawAnswer> => {
    const authorization = token === undefined ? [] : [`Authorization: Bearer ${token}`];
    const head = [`GET ${target} HTTP/1.1`, 'Host: api.example', ...authorization, ...lines];
    const bytes = Buffer.from(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`, 'latin1');
    const [answer, ...more] = await sendRaw(world.server, bytes);
    if (answer === undefined || more.length > 0) throw new Error(`${target}: not one answer`);
    return answer;
  };
  const root = (): string => world.platform.token ?? '';

  it('are compared with the plain target, which is served', async () => {
    expect((await send('/super/tenants', root())).status).to.equal(200);
    expect((await send('/super/tenants', eve.token)).status).to.equal(401);
    expect((await send('/api/v1/tenant/me', eve.token)).status).to.equal(200);
  });

  for (const target of [
    '//super/tenants',
    '/super//tenants',
    '///super///tenants',
    '/./super/tenants',
    '/super/./tenants',
    '/public/../super/tenants',
    '/public/%2e%2e/super/tenants',
    '/public/%2E./super/tenants',
    '/public/..%2fsuper/tenants',
    '/public/..;/super/tenants',
    '/health/live/../../super/tenants',
    '/super/tenants/',
    '/super/tenants//',
    '/super/tenants/x/..',
    '/super/tenants;',
    '/super/tenants;x=1',
    '/super;x=1/tenants',
    '/super%2ftenants',
    '/super%2Ftenants',
    '/super%5ctenants',
    '/super\\tenants',
    '/\\super/tenants',
    '/SUPER/tenants',
    '/Super/Tenants',
    '/super/TENANTS',
    '/%73uper/tenants',
    '/super/%74enants',
    '/super/tenants%00',
    '/super/tenants%20',
    '/super/tenants%09',
    '/super/tenants%0a',
    '/super/tenants%3f',
    '/super/tenants%23',
    '/super/tenants.json',
    '/super/tenants~',
    '/super/tenants#x',
    '/api/v1/../../super/tenants',
    '/api/v1//super/tenants',
    '/API/V1/super/tenants',
    '/api/v2/super/tenants',
    '/docs/../super/tenants',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/%2e%2e/package.json',
    '/docs/..%5c..%5cpackage.json',
    '/docs/%2fetc%2fpasswd',
  ]) {
    it(`${target} is no route for any caller`, async () => {
      for (const token of [undefined, eve.token, root()]) {
        const answer = await send(target, token);
        expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
      }
    });
  }

  for (const target of [
    'http://api.example/super/tenants',
    'http://elsewhere.example/super/tenants',
    'https://api.example/super/tenants',
    'http://root:password@api.example/super/tenants',
    'http://api.example/public/../super/tenants',
    'http://api.example/public/%2e%2e/super/tenants',
    'http://api.example\\super\\tenants',
    'ftp://api.example/super/tenants',
    'super/tenants',
    'api.example:443',
    '*',
    '?',
  ]) {
    it(`${target} as the request target is refused without the right credential`, async () => {
      for (const token of [undefined, eve.token]) {
        const answer = await send(target, token);
        expect(answer.status).to.be.oneOf([400, 401, 404]);
      }
    });
  }

  it('do not open the WebSocket', async () => {
    const upgrade = [
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    const status = async (target: string): Promise<number> => {
      const head = [`GET ${target} HTTP/1.1`, 'Host: api.example', `Authorization: Bearer ${eve.token}`];
      const bytes = Buffer.from(`${[...head, ...upgrade].join('\r\n')}\r\n\r\n`, 'latin1');
      return (await sendRaw(world.server, bytes))[0]?.status ?? 0;
    };
    expect(await status('/api/v1/ws')).to.equal(101);
    for (const target of [
      '//x/api/v1/ws',
      '/api/v1//ws',
      '/api/v1/x/../ws',
      '/public/%2e%2e/api/v1/ws',
      '/api/v1/ws/',
      '/api/v1/%77s',
      '/API/v1/ws',
      '/api\\v1\\ws',
      '/api/v1/ws;x',
    ]) {
      expect(await status(target), target).to.equal(404);
    }
  });

  it('are not served for an unknown or lower-case method', async () => {
    for (const method of [
      'TRACE',
      'PROPFIND',
      'PURGE',
      'COPY',
      'LINK',
      'SEARCH',
      'QUERY',
      'get',
      'Get',
      'GETX',
    ]) {
      const head = [`${method} /super/tenants HTTP/1.1`, 'Host: x', `Authorization: Bearer ${root()}`];
      const bytes = Buffer.from(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`);
      const [answer] = await sendRaw(world.server, bytes);
      expect(answer?.status, method).to.be.oneOf([400, 405]);
    }
    const [tunnel] = await sendRaw(
      world.server,
      'CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n',
    );
    expect(tunnel?.status ?? 0).to.be.oneOf([0, 400, 404, 405]);
  });

  it('never allow another origin: no CORS header, and no cookie as a credential', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1']) {
      const lines = [`Origin: ${origin}`, 'Cookie: session=1'];
      for (const answer of [
        await send('/api/v1/tenant/me', eve.token, lines),
        await send('/api/v1/tenant/me', undefined, lines),
        await send('/health/live', undefined, lines),
      ]) {
        expect(answer.head).not.to.match(/access-control-|set-cookie/i);
        expect(answer.head).to.match(/^cache-control: no-store$/im);
        expect(answer.head).to.match(/^x-content-type-options: nosniff$/im);
      }
      const preflight = `OPTIONS /api/v1/tenant/me HTTP/1.1\r\nHost: x\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: authorization\r\nConnection: close\r\n\r\n`;
      const [answer] = await sendRaw(world.server, preflight);
      expect(answer?.status).to.equal(204);
      expect(answer?.head).not.to.match(/access-control-/i);
    }
  });
});
