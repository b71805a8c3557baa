import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { guardedFetch } from '../../../infrastructure/http/guarded-fetch.ts';
import { guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { rejection } from '../../support/eventually.ts';
import { listen, stopProviders } from '../../support/identity-provider.ts';

describe('A guarded fetch', () => {
  const http = guardedHttp({ allowedNetworks: ['127.0.0.0/8'], allowHttp: true });
  const fetched = guardedFetch(http, { timeoutMs: 5_000, maxResponseBytes: 1_000 });
  const seen: { method: unknown; type: unknown; authorization: unknown; body: string }[] = [];
  let origin = '';

  before(async () => {
    ({ origin } = await listen((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk) => chunks.push(chunk))
        .on('end', () => {
          const { 'content-type': type, authorization } = request.headers;
          seen.push({ method: request.method, type, authorization, body: Buffer.concat(chunks).toString() });
          switch (request.url) {
            case '/gzip':
              response.setHeader('content-encoding', 'gzip');
              return response.end(gzipSync('{}'));
            case '/large':
              return response.end('x'.repeat(1_001));
            case '/empty':
              return response.writeHead(204).end();
            case '/moved':
              return response.writeHead(302, { location: '/' }).end();
            case '/refused':
              response.writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' });
              return response.end('no');
            case '/silent':
              return undefined;
            default:
              response.setHeader('Content-Type', 'application/json');
              return response.end('{"a":"ü"}');
          }
        });
    }));
  });
  beforeEach(() => {
    seen.length = 0;
  });
  after(stopProviders);

  it('sends forms, texts and bytes as fetch does', async () => {
    const headers = { authorization: 'Bearer t' };
    const form = new URLSearchParams({ grant_type: 'code', code: 'a b&ü' });
    const answer = await fetched(`${origin}/`, { method: 'post', headers, body: form });
    expect([answer.status, await answer.json()]).to.deep.equal([200, { a: 'ü' }]);
    expect(answer.headers.get('content-type')).to.equal('application/json');
    const json = new Headers({ 'Content-Type': 'application/json' });
    await fetched(`${origin}/`, { method: 'PUT', headers: json, body: '{"ü":1}' });
    await fetched(`${origin}/`, { method: 'POST', body: Buffer.from('bytes') });
    await fetched(`${origin}/`, {});
    const formType = 'application/x-www-form-urlencoded;charset=UTF-8';
    expect(seen).to.deep.equal([
      {
        method: 'POST',
        type: formType,
        authorization: 'Bearer t',
        body: 'grant_type=code&code=a+b%26%C3%BC',
      },
      { method: 'PUT', type: 'application/json', authorization: undefined, body: '{"ü":1}' },
      { method: 'POST', type: undefined, authorization: undefined, body: 'bytes' },
      { method: 'GET', type: undefined, authorization: undefined, body: '' },
    ]);
  });

  it('returns every status', async () => {
    expect((await fetched(`${origin}/empty`, {})).status).to.equal(204);
    const refused = await fetched(`${origin}/refused`, {});
    expect([refused.status, refused.headers.get('www-authenticate'), await refused.text()]).to.deep.equal([
      401,
      'Bearer error="invalid_token"',
      'no',
    ]);
  });

  it('follows no redirect, even on request', async () => {
    expect((await fetched(`${origin}/moved`, { redirect: 'follow' })).status).to.equal(302);
    expect(seen).to.have.lengthOf(1);
  });

  it('fails without a whole answer', async () => {
    for (const path of ['/large', '/gzip']) {
      expect(await rejection(fetched(`${origin}${path}`, {})), path).to.be.instanceOf(TypeError);
    }
    for (const url of ['http://10.0.0.1/?secret', 'http://user:secret@127.0.0.1/', 'nonsense secret']) {
      const error = await rejection(fetched(url, {}));
      expect(error).to.be.instanceOf(TypeError);
      expect(String(error)).not.to.include('secret');
    }
    expect(await rejection(fetched(`${origin}/`, { method: 'TRACE' }))).to.be.instanceOf(TypeError);
  });

  it('is aborted by its signal', async () => {
    const why = new Error('given up');
    const stop = new AbortController();
    const waiting = fetched(`${origin}/silent`, { signal: stop.signal });
    stop.abort(why);
    expect(await rejection(waiting)).to.equal(why);
  });
});
