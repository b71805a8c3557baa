import { expect } from 'chai';
import { testRoutes } from './routes.ts';
import { serve, type TestServer } from './support.ts';

let server: TestServer;
before(async () => {
  server = await serve(testRoutes());
});
after(() => server.close());

const end = 'Connection: close\r\n\r\n';
const auth = 'Authorization: Bearer admin\r\n';

interface Case {
  readonly name: string;
  readonly bytes: string;
  readonly status: number;
  readonly error?: string;
}

const cases: readonly Case[] = [
  { name: 'no HTTP', bytes: 'hello\r\n\r\n', status: 400, error: 'validation_failed' },
  {
    name: 'a broken header',
    bytes: `GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n${end}`,
    status: 400,
    error: 'validation_failed',
  },
  {
    name: 'two lengths',
    bytes: `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n${end}`,
    status: 400,
    error: 'validation_failed',
  },
  {
    name: 'length and chunks',
    bytes: `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n${end}`,
    status: 400,
    error: 'validation_failed',
  },
  {
    name: 'huge headers',
    bytes: `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(70_000)}\r\n${end}`,
    status: 431,
    error: 'payload_too_large',
  },
  { name: 'no host', bytes: `GET /health/live HTTP/1.1\r\n${end}`, status: 400, error: 'validation_failed' },
  {
    name: 'two hosts',
    bytes: `GET /health/live HTTP/1.1\r\nHost: x\r\nHost: y\r\n${end}`,
    status: 400,
    error: 'validation_failed',
  },
  {
    name: 'the same host twice',
    bytes: `GET /health/live HTTP/1.1\r\nHost: x\r\nhost: x\r\n${end}`,
    status: 400,
    error: 'validation_failed',
  },
  {
    name: 'HTTP/1.0 with two hosts',
    bytes: 'GET /health/live HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n',
    status: 400,
    error: 'validation_failed',
  },
  { name: 'HTTP/1.0 without a host', bytes: 'GET /health/live HTTP/1.0\r\n\r\n', status: 200 },
  {
    name: 'an unknown expectation',
    bytes: `GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n${end}`,
    status: 200,
  },
  {
    name: 'two Authorization headers',
    bytes: `GET /api/v1/things HTTP/1.1\r\nHost: x\r\n${auth}${auth}${end}`,
    status: 401,
    error: 'invalid_credential',
  },
  { name: 'a whole URL', bytes: `GET http://x/health/live?a=1 HTTP/1.1\r\nHost: x\r\n${end}`, status: 200 },
  { name: 'a star', bytes: `GET * HTTP/1.1\r\nHost: x\r\n${end}`, status: 404, error: 'not_found' },
  {
    name: 'an invalid URL with an unknown expectation',
    bytes: `GET http://[ HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n${end}`,
    status: 404,
    error: 'not_found',
  },
  {
    name: 'two slashes',
    bytes: `GET //health/live HTTP/1.1\r\nHost: x\r\n${end}`,
    status: 404,
    error: 'not_found',
  },
  {
    name: 'an unusual method',
    bytes: `PROPFIND /health/live HTTP/1.1\r\nHost: x\r\n${end}`,
    status: 405,
    error: 'method_not_allowed',
  },
  {
    name: 'an upgrade nobody takes',
    bytes: 'GET /health/live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade, close\r\n\r\n',
    status: 200,
  },
];

describe('Raw HTTP', () => {
  for (const { name, bytes, status, error } of cases) {
    it(`${name}: ${status} ${error ?? ''}`, async () => {
      const text = await server.raw(bytes);
      const [head = '', body = ''] = text.split('\r\n\r\n');
      expect(head).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head.toLowerCase()).to.contain('content-type: application/json');
      expect(head).to.match(/^x-request-id: \S+$/im);
      const json: unknown = JSON.parse(body);
      if (error === undefined) return;
      expect(json).to.have.property('error', error);
      expect(json).to.have.property('message').that.is.a('string');
    });
  }

  it('survives a client that disconnects within its body', async () => {
    const { connect } = await import('node:net');
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        const head = `POST /api/v1/things HTTP/1.1\r\nHost: x\r\n${auth}Content-Type: application/json\r\n`;
        socket.write(`${head}Content-Length: 100\r\n\r\n{"title"`, () => socket.destroy());
      });
      socket.on('close', () => resolve());
    });
    expect((await server.request('GET', '/health/live')).status).to.equal(200);
  });
});
