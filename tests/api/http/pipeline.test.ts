import { connect } from 'node:net';
import { expect } from 'chai';
import type { HttpDeps, ReadsWait } from '../../../api/http/deps.ts';
import type { ServedRequest } from '../../../api/http/request-log.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { untilPasses } from '../../support/eventually.ts';
import { KNOWN, testRoutes, UNKNOWN } from './routes.ts';
import { type LogLine, recordingLogger, serve, type TestServer } from './support.ts';

const lines: LogLine[] = [];
const effects: unknown[] = [];
const waits: ReadsWait[] = [];
const served: ServedRequest[] = [];
let server: TestServer;

const waitForReads: HttpDeps['waitForReads'] = (wait) => {
  waits.push(wait);
  if (wait.minPosition === undefined) return undefined;
  return wait.minPosition === 'p9'
    ? Promise.reject(new DomainError('read_model_behind', 'Not there yet.', { retry_after: 3 }))
    : Promise.resolve();
};

before(async () => {
  const logRequest = (request: ServedRequest): void => void served.push(request);
  server = await serve(testRoutes(effects), { logger: recordingLogger(lines), logRequest, waitForReads });
});
after(() => server.close());

const thing = { title: 'A thing' };

describe('The pipeline of a request', () => {
  it('answers a malformed id with the same bytes as an unknown one', async () => {
    const as = { as: 'admin', headers: { 'X-Request-Id': 'one' } };
    const unknown = await server.request('GET', `/api/v1/things/${UNKNOWN}`, as);
    for (const id of ['x', KNOWN.toUpperCase(), `${KNOWN}0`, '%00', '%E0%A4%A', '..%2F..']) {
      const malformed = await server.request('GET', `/api/v1/things/${id}`, as);
      expect([malformed.status, malformed.text]).to.deep.equal([404, unknown.text]);
    }
  });

  it('lists the allowed methods of a path', async () => {
    const patch = await server.request('PATCH', '/api/v1/things');
    expect(patch.headers.get('allow')).to.equal('GET, HEAD, OPTIONS, POST');
    const options = await server.request('OPTIONS', '/api/v1/things/x');
    expect([options.status, options.headers.get('allow'), options.text]).to.deep.equal([
      204,
      'DELETE, GET, HEAD, OPTIONS',
      '',
    ]);
  });

  it('answers HEAD as GET without the body', async () => {
    const get = await server.request('GET', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    const head = await server.request('HEAD', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(head.headers.get('content-length')).to.equal(String(get.text.length));
    expect((await server.request('HEAD', '/nowhere')).status).to.equal(404);
  });

  it('closes a connection with too many unanswered requests, preflights included', async () => {
    const shop = 'https://shop.example';
    const own = await serve(testRoutes([]), { corsOrigins: [shop] });
    const preflight = `OPTIONS /api/v1/things HTTP/1.1\r\nHost: x\r\nOrigin: ${shop}\r\nAccess-Control-Request-Method: GET\r\n\r\n`;
    const socket = connect(own.port, '127.0.0.1').resume();
    socket.on('error', () => undefined);
    socket.write(preflight.repeat(100));
    await untilPasses(() => expect(socket.closed).to.equal(true));
    await own.close();
  });

  it('keeps a request id or generates one', async () => {
    const given = await server.request('GET', '/nowhere', { headers: { 'X-Request-Id': 'Ab-1._' } });
    expect(given.headers.get('x-request-id')).to.equal('Ab-1._');
    for (const bad of ['a b', 'x'.repeat(129), 'ü', '']) {
      const made = await server.request('GET', '/nowhere', { headers: { 'X-Request-Id': bad } });
      expect(made.headers.get('x-request-id')).to.match(/^made-/);
    }
  });

  it('sends position, location and next link, and clamps the limit for the handler', async () => {
    const list = await server.request('GET', '/api/v1/things?limit=900&state=a%20b&cursor=old', {
      as: 'admin',
    });
    expect(list.text).to.contain('"title":"200"');
    const link = /^<([^>]+)>; rel="next"$/.exec(list.headers.get('link') ?? '')?.[1];
    const next = new URL(link ?? '', server.origin);
    expect(next.pathname).to.equal('/api/v1/things');
    expect(Object.fromEntries(next.searchParams)).to.deep.equal({
      limit: '900',
      state: 'a b',
      cursor: 'a b&c',
    });
    const made = await server.request('POST', '/api/v1/things', { as: 'admin', body: thing });
    expect(made.headers.get('x-event-position')).to.equal('p7');
    expect(made.headers.get('location')).to.equal('/api/v1/things/1');
    expect(effects.at(-1)).to.deep.include({ requestId: made.headers.get('x-request-id'), ip: '127.0.0.1' });
  });

  it('sends no body with 204', async () => {
    const gone = await server.request('DELETE', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    expect([gone.status, gone.text, gone.headers.get('content-length')]).to.deep.equal([204, '', null]);
  });

  it('waits for the read models of a route', async () => {
    waits.length = 0;
    await server.request('GET', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    expect(waits).to.deep.equal([]);
    const there = await server.request('GET', '/api/v1/things', {
      as: 'admin',
      headers: { 'X-Min-Position': 'p1' },
    });
    expect(there.status).to.equal(200);
    expect(waits).to.deep.equal([{ tenantId: 'acme', projections: ['things'], minPosition: 'p1' }]);
    const behind = await server.request('GET', '/api/v1/things', {
      as: 'admin',
      headers: { 'X-Min-Position': 'p9' },
    });
    expect([behind.status, behind.json.error, behind.headers.get('retry-after')]).to.deep.equal([
      503,
      'read_model_behind',
      '3',
    ]);
  });

  it('hides internal errors from the answer, and logs them with the request id', async () => {
    lines.length = 0;
    const headers = { 'X-Request-Id': 'trace-me' };
    const broken = await server.request('POST', '/api/v1/boom/unknown?token=t0k3n', { as: 'admin', headers });
    const text =
      '{"error":"internal_error","message":"Something went wrong on our side.","request_id":"trace-me"}';
    expect(broken.text).to.equal(text);
    const [line] = lines.filter(({ level }) => level === 'error');
    expect(line?.fields).to.include({ request_id: 'trace-me', status: 500, route: '/api/v1/boom/:kind' });
    expect(line?.fields).to.have.nested.property('err.stack').that.contains('routes.ts');
    expect(JSON.stringify(lines)).not.to.contain('t0k3n');
    const away = await server.request('POST', '/api/v1/boom/unavailable', { as: 'admin' });
    expect(away.headers.get('retry-after')).to.equal('1');
    expect(away.text).not.to.contain('mongodb');
  });

  it('logs a warning without a stack for a search that was given up', async () => {
    lines.length = 0;
    const given = await server.request('POST', '/api/v1/boom/costly', { as: 'admin' });
    expect([given.status, given.json.error, given.headers.get('retry-after')]).to.deep.equal([
      503,
      'unavailable',
      '2',
    ]);
    expect(given.json.message).to.equal(
      'The search takes too long. Use a narrower filter, or try again later.',
    );
    const full = await server.request('POST', '/api/v1/boom/searches', { as: 'admin' });
    expect([full.status, full.json.message]).to.deep.equal([
      503,
      'Too many searches are waiting. Try again later.',
    ]);
    expect(lines.filter(({ level }) => level === 'error')).to.deep.equal([]);
    const [line] = lines.filter(({ level }) => level === 'warn');
    expect(line?.fields).to.include({ status: 503, reason: 'a search took too long' });
    expect(line?.fields).not.to.have.property('err');
  });

  it('omits details of the assistant’s refusal', async () => {
    const { json } = await server.request('POST', '/api/v1/boom/assistant', { as: 'admin' });
    expect(json).to.deep.equal({ error: 'assistant_not_entitled', message: 'Not part of the plan.' });
  });

  it('repeats no value of a body that the schema refuses, nor a refused credential', async () => {
    const body = { title: 5, token: 'hush', lines: [{ debit: 'hush' }] };
    const { text } = await server.request('POST', '/api/v1/things?dry=hush', { as: 'admin', body });
    expect(text).not.to.contain('hush');
    const { text: refused } = await server.request('GET', '/api/v1/things', { as: 'hush' });
    expect(refused).not.to.contain('hush');
  });

  it('logs a successful request with the pattern of its route', async () => {
    await server.request('GET', '/nowhere');
    served.length = 0;
    await server.request('GET', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    await untilPasses(() => expect(served).to.have.length(1));
    expect(served[0]).to.include({ route: '/api/v1/things/:id', status: 200, method: 'GET' });
  });

  it('does not name its server software', async () => {
    const { headers } = await server.request('GET', '/nowhere');
    expect([headers.get('x-powered-by'), headers.get('etag'), headers.get('server')]).to.deep.equal([
      null,
      null,
      null,
    ]);
  });
});
