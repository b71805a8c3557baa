import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { testRoutes } from './routes.ts';
import { serve, type TestServer } from './support.ts';

let server: TestServer;
before(async () => {
  server = await serve(testRoutes());
});
after(() => server.close());

const good = JSON.stringify({ title: 'x' });
const sized = (bytes: number): string => JSON.stringify({ title: 'x'.repeat(bytes - 12) });
const nested = (depth: number): string => `{"title":"x","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`;

const named = (members: number): string =>
  `{"title":"x","lines":[],"deep":[{${Array.from({ length: members - 3 }, (_, nth) => `"${nth}":1`).join()}}]}`;

interface Case {
  readonly name: string;
  readonly body: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly status: number;
  readonly error?: string;
}

const cases: readonly Case[] = [
  { name: 'JSON', body: good, status: 201 },
  {
    name: 'a charset',
    body: good,
    headers: { 'Content-Type': 'Application/JSON ; Charset="UTF-8"' },
    status: 201,
  },
  { name: 'identity', body: good, headers: { 'Content-Encoding': 'identity' }, status: 201 },
  {
    name: 'a text type',
    body: good,
    headers: { 'Content-Type': 'text/plain' },
    status: 415,
    error: 'unsupported_media_type',
  },
  {
    name: 'a form',
    body: 'title=x',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    status: 415,
    error: 'unsupported_media_type',
  },
  {
    name: 'a type that only begins so',
    body: good,
    headers: { 'Content-Type': 'application/jsonp' },
    status: 415,
    error: 'unsupported_media_type',
  },
  {
    name: 'another charset',
    body: good,
    headers: { 'Content-Type': 'application/json; charset=utf-16' },
    status: 415,
    error: 'unsupported_media_type',
  },
  {
    name: 'a compressed body',
    body: gzipSync(good),
    headers: { 'Content-Encoding': 'gzip' },
    status: 415,
    error: 'unsupported_media_type',
  },
  { name: 'half an object', body: '{"title":', status: 400, error: 'malformed_json' },
  { name: 'white space', body: ' ', status: 400, error: 'malformed_json' },
  { name: 'two values', body: `${good}${good}`, status: 400, error: 'malformed_json' },
  {
    name: 'broken UTF-8',
    body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    status: 400,
    error: 'malformed_json',
  },
  { name: 'a list', body: '[]', status: 400, error: 'validation_failed' },
  { name: 'a text', body: '"x"', status: 400, error: 'validation_failed' },
  { name: 'null', body: 'null', status: 400, error: 'validation_failed' },
  { name: 'a byte order mark', body: `\ufeff${good}`, status: 201 },
  { name: '99 levels', body: nested(99), status: 201 },
  { name: '100 levels', body: nested(100), status: 400, error: 'malformed_json' },
  { name: 'half a million levels', body: nested(500_000), status: 400, error: 'malformed_json' },
  {
    name: 'brackets in a text',
    body: JSON.stringify({ title: 'x', note: '[{"\\'.repeat(200) }),
    status: 201,
  },
  { name: '20,000 members', body: named(20_000), status: 201 },
  { name: '20,001 members', body: named(20_001), status: 400, error: 'validation_failed' },
  { name: 'colons in a text', body: JSON.stringify({ title: 'x', note: ':'.repeat(30_000) }), status: 201 },
  { name: '1 MiB', body: sized(1_048_576), status: 400, error: 'validation_failed' },
  { name: '1 MiB and a byte', body: sized(1_048_577), status: 413, error: 'payload_too_large' },
  {
    name: 'too large and of the wrong type',
    body: sized(1_048_577),
    headers: { 'Content-Type': 'text/plain' },
    status: 413,
    error: 'payload_too_large',
  },
];

describe('A body', () => {
  for (const { name, body, headers, status, error } of cases) {
    it(`${name}: ${status} ${error ?? ''}`, async () => {
      const answer = await server.request('POST', '/api/v1/things', {
        as: 'admin',
        body,
        ...(headers && { headers }),
      });
      expect([answer.status, answer.json.error], answer.text.slice(0, 300)).to.deep.equal([status, error]);
    });
  }

  it('may be larger when a route allows it', async () => {
    const body = { text: 'x'.repeat(1_500_000) };
    expect((await server.request('PUT', '/api/v1/big', { as: 'admin', body })).json).to.deep.equal({
      size: 1_500_000,
    });
    const larger = { text: 'x'.repeat(2_000_000) };
    expect((await server.request('PUT', '/api/v1/big', { as: 'admin', body: larger })).status).to.equal(413);
  });

  it('leaves the connection usable after a refusal', async () => {
    const large = sized(1_200_000);
    const head = 'Host: x\r\nAuthorization: Bearer admin\r\nContent-Type: application/json\r\n';
    const first = `POST /api/v1/things HTTP/1.1\r\n${head}Content-Length: ${large.length}\r\n\r\n${large}`;
    const second = `POST /api/v1/things HTTP/1.1\r\n${head}Connection: close\r\nContent-Length: ${good.length}\r\n\r\n${good}`;
    const text = await server.raw(first + second);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['413', '201']);
  });

  const chunked = (type: string, chunks: readonly string[]): string =>
    `POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n${type}Connection: close\r\n` +
    `Transfer-Encoding: chunked\r\n\r\n${[...chunks, ''].map((c) => `${c.length.toString(16)}\r\n${c}\r\n`).join('')}`;

  for (const { name, type, chunks, status } of [
    {
      name: 'in chunks',
      type: 'Content-Type: application/json\r\n',
      chunks: ['{"title"', ':"x"}'],
      status: '201',
    },
    { name: 'in chunks without a type', type: '', chunks: ['{"title"', ':"x"}'], status: '415' },
    { name: 'of no chunk', type: '', chunks: [], status: '400' },
    {
      name: 'of too many chunks',
      type: '',
      chunks: Array.from({ length: 20 }, () => 'x'.repeat(65_536)),
      status: '413',
    },
  ]) {
    it(`${name}: ${status}`, async () => {
      expect((await server.raw(chunked(type, chunks))).slice(9, 12)).to.equal(status);
    });
  }

  it('without a type is refused', async () => {
    const head =
      'POST /api/v1/things HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nConnection: close\r\n';
    const text = await server.raw(`${head}Content-Length: ${good.length}\r\n\r\n${good}`);
    expect(text)
      .to.match(/^HTTP\/1\.1 415 /)
      .and.to.contain('"unsupported_media_type"');
  });
});
