import { expect } from 'chai';
import { httpUpstream } from '../../../infrastructure/billing/http-upstream.ts';
import { guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { type Fault, startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';

const TOKEN = 'the-upstream-token-of-the-tests';
const KEY = 'partner-invoice-0-1';
const DOCUMENT = '{"id":"0"}';

describe('The upstream over HTTP', () => {
  let server: TestUpstream;
  const http = guardedHttp({ allowedNetworks: ['0.0.0.0/0', '::/0'], allowHttp: true });
  const never = new AbortController().signal;

  beforeEach(async () => {
    server = await startUpstream();
  });
  afterEach(() => server.end());

  const upstream = (timeoutMs = 5000) => httpUpstream({ url: server.url, token: TOKEN, http, timeoutMs });
  const send = (fault: Fault, timeoutMs?: number) => {
    server.fail(fault);
    return upstream(timeoutMs).send(KEY, DOCUMENT, never);
  };

  it('receives the document unchanged, with key and token', async () => {
    expect(await send('none')).to.deep.equal({ kind: 'accepted', reference: 'up-1' });
    expect(server.calls).to.deep.equal([
      { method: 'POST', key: KEY, authorization: `Bearer ${TOKEN}`, body: DOCUMENT },
    ]);
  });

  it('returns the same reference for the same key', async () => {
    await send('none');
    expect(await send('none')).to.deep.equal({ kind: 'accepted', reference: 'up-1' });
  });

  it('refuses with any 4xx about the invoice', async () => {
    for (const status of [400, 401, 403, 404, 410, 413, 422, 451]) {
      expect(await send({ status }), String(status)).to.deep.equal({
        kind: 'refused',
        message: `HTTP ${status}`,
      });
    }
  });

  it('gives no answer for any other status, and its redirects are not followed', async () => {
    for (const status of [408, 409, 429, 500, 502, 503, 504, 301, 302, 307, 308]) {
      expect((await send({ status })).kind, String(status)).to.equal('unknown');
    }
    expect(server.calls.every(({ method }) => method === 'POST')).to.equal(true);
    expect(server.calls).to.have.length(11);
  });

  it('gives no answer for a 2xx without a usable reference', async () => {
    const bodies = [
      '',
      'null',
      '[]',
      '{}',
      '"up-1"',
      '<html>ok</html>',
      '{"reference":null}',
      '{"reference":7}',
      '{"reference":""}',
      '{"reference":"  "}',
      '{"reference":"a\\u0000b"}',
      '{"reference":"\\ud800"}',
      JSON.stringify({ reference: 'x'.repeat(256) }),
      JSON.stringify({ padding: 'x'.repeat(100_000), reference: 'up-1' }),
      '{"reference":"up-1"',
    ];
    for (const body of bodies) {
      expect((await send({ status: 200, body })).kind, body.slice(0, 40)).to.equal('unknown');
    }
    expect((await send({ status: 204 })).kind).to.equal('unknown');
    const longest = JSON.stringify({ reference: '\u{1f600}'.repeat(255) });
    expect((await send({ status: 200, body: longest })).kind).to.equal('accepted');
  });

  it('gives no answer when it is silent, disconnects or sends too slowly', async () => {
    expect((await send('drop')).kind).to.equal('unknown');
    expect((await send('accept and drop')).kind).to.equal('unknown');
    expect((await send('hang', 300)).kind).to.equal('unknown');
    expect((await send('drip', 300)).kind).to.equal('unknown');
  });

  it('is queried by the key, in addition to the URL’s own query', async () => {
    expect(await upstream().find(KEY, never)).to.deep.equal({ kind: 'absent' });
    await send('none');
    expect(await upstream().find(KEY, never)).to.deep.equal({ kind: 'found', reference: 'up-1' });
    expect(server.calls.map(({ method, key }) => [method, key])).to.deep.equal([
      ['GET', KEY],
      ['POST', KEY],
      ['GET', KEY],
    ]);
  });

  it('gives no answer when nothing listens', async () => {
    await server.end();
    expect((await upstream().send(KEY, DOCUMENT, never)).kind).to.equal('unknown');
    expect((await upstream().find(KEY, never)).kind).to.equal('unknown');
    server = await startUpstream();
  });

  it('is aborted with the signal, and rejects with its reason', async () => {
    const giving = new AbortController();
    const reason = new Error('enough');
    server.onCall(() => giving.abort(reason));
    server.fail('hang');
    const caught = await upstream()
      .send(KEY, DOCUMENT, giving.signal)
      .catch((error: unknown) => error);
    expect(caught).to.equal(reason);
  });

  it('is quoted without the token and control characters, cut to 500 characters', async () => {
    const body = JSON.stringify({ message: `bad token ${TOKEN}\n\u0007${'x'.repeat(2000)}` });
    const answer = await send({ status: 401, body });
    if (answer.kind !== 'refused') throw new Error(answer.kind);
    expect(answer.message).to.match(/^HTTP 401: bad token \*\*\* x+$/);
    expect(answer.message).to.have.length(500);
    const delayed = await send({ status: 500, body: JSON.stringify({ error: TOKEN }) });
    expect(delayed).to.deep.equal({ kind: 'unknown', message: 'HTTP 500: ***' });
  });
});
