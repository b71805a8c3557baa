import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { type AnswerCodec, fingerprints } from '../../../api/http/idempotency.ts';
import type { Route } from '../../../api/http/route.ts';
import { canonicalJson } from '../../../domain/core/canonical-json.ts';
import { testRoutes } from './routes.ts';
import { MemoryIdempotency, serve, type TestServer } from './support.ts';

/** Marks stored answers, to show that every answer passes through the codec. */
const codec: AnswerCodec = {
  store: async (body) => `sealed:${JSON.stringify(body)}`,
  restore: async (text): Promise<unknown> => JSON.parse(text.slice('sealed:'.length)),
};

describe('Idempotency-Key', () => {
  const effects: unknown[] = [];
  let store: MemoryIdempotency;
  let server: TestServer;

  beforeEach(async () => {
    effects.length = 0;
    store = new MemoryIdempotency();
    const routes = testRoutes(effects);
    // The path of `createThing` with another method.
    const replaceThing = routes
      .filter(({ operationId }) => operationId === 'createThing')
      .map((made): Route => ({ ...made, method: 'put', operationId: 'replaceThing' }));
    server = await serve([...routes, ...replaceThing], { idempotency: store, answerCodec: codec });
  });
  afterEach(() => server.close());

  const create = (key: string, body: unknown = { title: 'x' }, as = 'admin', path = '/api/v1/things') =>
    server.request('POST', path, { as, body, headers: { 'Idempotency-Key': key } });

  it('replays the stored answer without its secrets', async () => {
    const first = await create('k', '{"title":"x","lines":[]}');
    const second = await create('k', '{ "lines" : [ ], "title" : "\\u0078" }');
    expect(first.headers.get('idempotency-replayed')).to.equal(null);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect(first.json).to.have.property('secret');
    const { secret: _, ...kept } = first.json;
    expect(second.json).to.deep.equal(kept);
    for (const name of ['x-event-position', 'location', 'content-type']) {
      expect(second.headers.get(name)).to.equal(first.headers.get(name));
    }
    expect(second.headers.get('x-request-id')).not.to.equal(first.headers.get('x-request-id'));
    expect(effects).to.have.length(1);
    expect([...store.answers.values()][0]?.body).to.match(/^sealed:/);
    expect(JSON.stringify([...store.answers])).not.to.contain('s3cret');
  });

  it('refuses another body, path or method', async () => {
    await create('k');
    const headers = { 'Idempotency-Key': 'k' };
    for (const answer of [
      await create('k', { title: 'y' }),
      await create('k', { title: 'x', extra: null }),
      await create('k', { title: 'x' }, 'admin', '/things'),
      await server.request('PUT', '/api/v1/things', { as: 'admin', body: { title: 'x' }, headers }),
    ]) {
      expect([answer.status, answer.json.error]).to.deep.equal([422, 'idempotency_key_reused']);
    }
    expect(effects).to.have.length(1);
  });

  it('is scoped to one caller', async () => {
    await create('k');
    for (const as of ['operator', 'other']) {
      expect((await create('k', { title: 'y' }, as)).status).to.equal(201);
    }
  });

  it('makes duplicates wait for the first request', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => create('k')));
    expect(answers.map(({ status }) => status)).to.deep.equal(Array.from({ length: 8 }, () => 201));
    expect(new Set(answers.map(({ json }) => json.n))).to.deep.equal(new Set([1]));
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).to.have.length(7);
    expect(effects).to.have.length(1);
  });

  it('is not released while the outcome is unknown', async () => {
    const send = (path: string) =>
      server.request('POST', path, { as: 'admin', headers: { 'Idempotency-Key': 'f' } });
    // The outcome is unknown, so the request keeps the key.
    expect((await send('/api/v1/boom/unavailable')).status).to.equal(503);
    expect((await send('/api/v1/boom/unavailable')).status).to.equal(503);
    expect((await create('f')).status).to.equal(422);
  });

  it('gives the handler its scope, its nonce and the start of earlier attempts', async () => {
    expect((await create('f')).status).to.equal(201);
    expect(effects.at(-1)).to.have.nested.property('idempotency.priorAttempt.since');
    expect(effects.at(-1)).to.have.nested.property('idempotency.nonce');
    expect(effects.at(-1)).to.have.nested.property('idempotency.scope', 'acme/user-u1');
  });

  it('answers even if the answer cannot be stored', async () => {
    store.put = () => Promise.reject(new Error('the disk is full'));
    expect((await create('k')).status).to.equal(201);
  });

  it('is refused when malformed', async () => {
    for (const bad of ['', 'a\tb', 'x'.repeat(256), 'ü']) {
      const answer = await create(bad);
      expect([answer.status, answer.json.error], bad).to.deep.equal([400, 'validation_failed']);
    }
    expect((await create(`!~${'x'.repeat(253)}`)).status).to.equal(201);
  });

  it('is ignored on reads and public routes', async () => {
    const headers = { 'Idempotency-Key': 'not valid here' };
    const body = { email: 'a@b.test', password: 'right' };
    expect((await server.request('POST', '/auth/login', { body, headers })).status).to.equal(200);
    expect((await server.request('GET', '/api/v1/things', { as: 'admin', headers })).status).to.equal(200);
    expect(store.begun.size).to.equal(0);
  });
});

describe('The fingerprint of a request', () => {
  const MASTER_KEY = 'the-master-key-of-this-test-0123456789';
  const made = fingerprints(MASTER_KEY);
  const fingerprint = (method: string, path: string, body: unknown) =>
    made(method, path, body, 'tenant acme');

  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, shuffled(inner)]);
    return Object.fromEntries(entries.reverse());
  };

  it('does not depend on the order of keys', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (body) => {
        const parsed: unknown = JSON.parse(JSON.stringify(body));
        const other = await fingerprint('post', '/x', shuffled(parsed));
        expect(other).to.equal(await fingerprint('post', '/x', parsed));
      }),
    );
  });

  it('of a large body is made in slices, and is the HMAC of its canonical JSON', async () => {
    const body = { selection: { ids: Array.from({ length: 40_000 }, (_, nth) => `row ${nth} €`) } };
    let hasTicked = false;
    setImmediate(() => {
      hasTicked = true;
    });
    const key = hkdfSync('sha256', MASTER_KEY, '', 'idempotency-fingerprint', 32);
    const wanted = createHmac('sha256', Buffer.from(key)).update(`post\n/x\n${canonicalJson(body)}`);
    expect(await fingerprint('post', '/x', body)).to.equal(wanted.digest('hex'));
    expect(hasTicked).to.equal(true);
  });

  it('differs for bodies that differ as JSON', async () => {
    const json = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((body): unknown => JSON.parse(JSON.stringify(body)));
    await fc.assert(
      fc.asyncProperty(json, json, async (a, b) => {
        fc.pre(JSON.stringify(shuffled(a)) !== JSON.stringify(shuffled(b)));
        let same = true;
        try {
          expect(a).to.deep.equal(b);
        } catch {
          same = false;
        }
        const both = [await fingerprint('post', '/x', a), await fingerprint('post', '/x', b)];
        expect(both[0] === both[1]).to.equal(same);
      }),
    );
  });

  it('differs for methods and paths', async () => {
    const asked = ['post', 'put'].flatMap((method) =>
      ['/a', '/b'].map((path) => fingerprint(method, path, {})),
    );
    const all = await Promise.all(asked);
    expect(new Set([...all, await fingerprint('post', '/a', undefined)]).size).to.equal(5);
    expect(all[0]).to.match(/^[0-9a-f]{64}$/);
  });

  it('cannot be guessed without the key', async () => {
    const body = { email: 'ann@people.example', password: 'hush-hush-hush' };
    const own = await fingerprint('post', '/x', body);
    const other = fingerprints('another-master-key-of-this-test-01234567');
    expect(await other('post', '/x', body, 'tenant acme')).not.to.equal(own);
    const plain = createHash('sha256')
      .update(`post\n/x\n${JSON.stringify(body)}`)
      .digest('hex');
    expect(own).not.to.equal(plain);
  });
});
