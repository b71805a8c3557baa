import { expect } from 'chai';
import { z } from 'zod';
import { strangersScope } from '../../../api/http/idempotency.ts';
import { createRateLimits } from '../../../api/http/rate-limits.ts';
import { type Reply, type Route, route } from '../../../api/http/route.ts';
import { callerKey } from '../../../application/core/commands/principal.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { admin, MemoryIdempotency, serve, type TestServer } from './support.ts';

const BASE = '/public/wishes/:tenant/:slug';

/** A public route that accepts wishes and forbids some. */
const wishes = (effects: unknown[], own: Partial<Route> = {}): Route => ({
  ...route({
    method: 'post',
    path: BASE,
    operationId: 'wish',
    summary: 'Takes a wish',
    description: 'A route of the tests.',
    tag: 'Wishes',
    access: { kind: 'public' },
    keyedBy: 'stranger',
    params: z.object({ tenant: z.string(), slug: z.string() }),
    bodyKinds: ['json', 'form'],
    body: z.object({ wish: z.string() }),
    responses: { 201: z.object({ n: z.int() }) },
    handle: async ({ body, idempotency }): Promise<Reply> => {
      if (body.wish === 'nothing') throw notFound();
      if (body.wish === 'bad')
        return { status: 422, body: '<p>no', headers: { 'Content-Type': 'text/html' } };
      effects.push(idempotency?.nonce);
      return { status: 201, body: { n: effects.length } };
    },
  }),
  ...own,
});

describe('Public routes', () => {
  const effects: unknown[] = [];
  let store: MemoryIdempotency;
  let server: TestServer;

  const start = async (own: Partial<Route> = {}, limited = false): Promise<void> => {
    const limits = createRateLimits(
      { requestsPerMinute: limited ? 600 : 0, loginsPerMinute: 0 },
      { now: () => 0 },
    );
    server = await serve([wishes(effects, own)], { idempotency: store, limits });
  };
  beforeEach(() => {
    effects.length = 0;
    store = new MemoryIdempotency();
  });
  afterEach(() => server.close());

  const wish = (wanted: string, key: string | undefined, path = '/public/wishes/acme/one') =>
    server.request('POST', path, {
      body: { wish: wanted },
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    });

  it('replay the stored answer for a repeated key, and refuse the key with another body', async () => {
    await start();
    const [first, second] = [await wish('rain', 'k'), await wish('rain', 'k')];
    expect(second.json).to.deep.equal(first.json);
    expect(second.headers.get('idempotency-replayed')).to.equal('true');
    expect((await wish('sun', 'k')).json.error).to.equal('idempotency_key_reused');
    expect((await wish('sun', '')).status).to.equal(400);
    expect(effects).to.have.length(1);
    await wish('rain', undefined);
    expect(effects[1]).to.equal(undefined);
  });

  it('release a key after a refusal, as an error or as a page', async () => {
    await start();
    expect((await wish('nothing', 'k')).status).to.equal(404);
    expect((await wish('bad', 'k')).status).to.equal(422);
    expect((await wish('rain', 'k')).status).to.equal(201);
    expect(effects).to.have.length(1);
  });

  it('separate the keys of each path, however it is percent-encoded', async () => {
    await start();
    await wish('rain', 'k');
    for (const path of ['/public/wishes/acme/two', '/public/wishes/globex/one']) {
      expect((await wish('sun', 'k', path)).status).to.equal(201);
    }
    expect((await wish('sun', 'k', '/public/wishes/acme/%6Fne')).status).to.equal(422);
  });

  it('use idempotency scopes that no authenticated caller can have', () => {
    const long = strangersScope('wish', { tenant: 'public', slug: `\n/user-u1${'x'.repeat(5000)}` });
    expect(long).to.match(/^public\/wish\/[0-9a-f]{64}$/);
    expect(callerKey({ ...admin, tenantId: 'public', userId: 'u1' })).to.equal('public/user-u1');
    expect(strangersScope('wish', { a: 'x', b: 'y' })).not.to.equal(
      strangersScope('wish', { a: 'xy', b: '' }),
    );
  });

  it('ignore idempotency keys unless the route accepts them', async () => {
    const { keyedBy: _, ...rest } = wishes(effects);
    server = await serve([rest], { idempotency: store });
    for (const n of [1, 2]) expect((await wish('rain', 'k')).json.n).to.equal(n);
    expect(store.begun.size).to.equal(0);
    const { paths } = (await server.request('GET', '/openapi.json')).json;
    expect(JSON.stringify(paths)).not.to.contain('Idempotency-Key');
  });

  it('answer an error with the route’s error page and keep status and headers', async () => {
    await start(
      {
        limit: 'public',
        errorPage: ({ body }) =>
          body.error === 'rate_limited'
            ? { body: '<p>later', headers: { 'Content-Type': 'text/html' } }
            : undefined,
      },
      true,
    );
    expect((await wish('nothing', undefined)).json.error).to.equal('not_found');
    const answers = [];
    for (let i = 0; i < 30; i += 1) answers.push(await wish('rain', undefined));
    const refused = answers.at(-1);
    expect([refused?.status, refused?.text, refused?.headers.get('content-type')]).to.deep.equal([
      429,
      '<p>later',
      'text/html',
    ]);
    expect(Number(refused?.headers.get('retry-after'))).to.be.greaterThan(0);
    expect(refused?.headers.get('cache-control')).to.equal('no-store');
  });

  it('send Referrer-Policy in every answer, and other routes do not', async () => {
    await start();
    for (const [method, path] of [
      ['POST', '/public/wishes/acme/one'],
      ['GET', '/public/wishes/acme/one'],
      ['OPTIONS', '/public/wishes/acme/one'],
      ['GET', '/public/nothing'],
      ['GET', '/api/v1/public/nothing'],
      ['GET', '/public'],
    ] as const) {
      const { headers } = await server.request(method, path);
      expect(headers.get('referrer-policy'), `${method} ${path}`).to.equal('no-referrer');
    }
    for (const path of ['/publicity', '/health/live', '/api/v1/tenant/public']) {
      expect((await server.request('GET', path)).headers.get('referrer-policy'), path).to.equal(null);
    }
  });
});
