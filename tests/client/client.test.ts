import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { z } from 'zod';
import { ApiError, createClient } from '../../client/src/index.ts';
import { BASE, endWorld, type Member, sharedWorld, type TestTenant, type World } from '../support/world.ts';
import { id as idShape } from './shapes.ts';

const MESSAGES = '/api/v1/tenant/messaging/conversations/{id}/messages';

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};

describe('The client', () => {
  let world: World;
  let tenant: TestTenant;
  let ben: Member;
  let url: string;
  let conversation: string;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ben = await tenant.person('Ben');
    url = world.server.base;
    const made = await tenant.admin.api.post(BASE, { participant_user_ids: [ben.id] });
    conversation = made.as(idShape, 201).id;
  });
  after(endWorld);

  const clientOf = (who: Member) => createClient({ url, token: who.token });
  const params = () => ({ path: { id: conversation } });

  it('returns the JSON of an answer, and undefined for an answer without a body', async () => {
    const client = clientOf(ben);
    expect((await client.get('/api/v1/tenant/me')).email).to.equal(ben.email);
    const read = '/api/v1/tenant/messaging/conversations/{id}/read';
    expect(await client.post(read, { params: params() })).to.equal(undefined);
  });

  it('throws an ApiError with status, code, details and request id of a refusal', async () => {
    const refused = await clientOf(ben)
      .post(MESSAGES, { params: params(), body: { body: '' } })
      .catch((error: unknown) => error);
    if (!(refused instanceof ApiError)) throw new Error('not refused');
    expect([refused.status, refused.code]).to.deep.equal([400, 'validation_failed']);
    expect(refused.details).to.have.property('issues');
    expect(refused.requestId).to.match(/\w/);
    const unknown = await createClient({ url, token: 'nobody' })
      .get('/api/v1/tenant/me')
      .catch((error: unknown) => error);
    expect(unknown).to.include({ name: 'ApiError', status: 401, code: 'invalid_credential' });
  });

  it('calls the token function before each request', async () => {
    const given: string[] = [];
    const token = async (): Promise<string> => {
      given.push(given.length === 0 ? tenant.admin.token : ben.token);
      return given.at(-1) ?? '';
    };
    const client = createClient({ url, token });
    expect((await client.get('/api/v1/tenant/me')).id).to.equal(tenant.admin.id);
    expect((await client.get('/api/v1/tenant/me')).id).to.equal(ben.id);
  });

  it('sends a message once when the answer is lost, and when the server is busy', async () => {
    const failures = ['lost', 'lost', 503, 429];
    const keys = new Set<string | null>();
    const flaky = async (request: Request): Promise<Response> => {
      keys.add(request.headers.get('idempotency-key'));
      const failure = failures.shift();
      if (typeof failure === 'number') return new Response('{}', { status: failure });
      const answer = await fetch(request);
      if (failure === 'lost') throw new TypeError('the connection was lost');
      return answer;
    };
    const client = createClient({ url, token: ben.token, fetch: flaky, retry: { first: 1 } });
    const sent = await client.post(MESSAGES, { params: params(), body: { body: 'only once' } });
    expect(failures).to.deep.equal([]);
    expect(keys.size).to.equal(1);
    expect([...keys][0]).to.match(/^[0-9a-f-]{36}$/);
    const found = await all(clientOf(ben).items(MESSAGES, { params: params() }));
    expect(found.filter(({ body }) => body === 'only once').map(({ id }) => id)).to.deep.equal([sent.id]);
  });

  it('requires each read to include its last write, unless this option is off', async () => {
    for (const readsOwnWrites of [undefined, false]) {
      const asked: (string | null)[] = [];
      let written: string | null = null;
      const noting = async (request: Request): Promise<Response> => {
        if (request.method === 'GET') asked.push(request.headers.get('x-min-position'));
        const answer = await fetch(request);
        if (request.method === 'POST') written = answer.headers.get('x-event-position');
        return answer;
      };
      const client = createClient({ url, token: ben.token, fetch: noting, readsOwnWrites });
      await client.get('/api/v1/tenant/me');
      await client.post(MESSAGES, { params: params(), body: { body: 'read this' } });
      await client.get(MESSAGES, { params: params() });
      expect(written).to.be.a('string');
      expect(asked).to.deep.equal([null, readsOwnWrites === false ? null : written]);
    }
  });

  it('requires the later position of two writes whose answers come in the other order', async () => {
    const first = Promise.withResolvers<void>();
    let asked: string | null = null;
    const answering = async (request: Request): Promise<Response> => {
      if (request.method === 'GET') {
        asked = request.headers.get('x-min-position');
        return Response.json([]);
      }
      const { body } = z.object({ body: z.string() }).parse(await request.json());
      if (body === 'first') await first.promise;
      const headers = { 'x-event-position': body === 'first' ? '0001' : '0002' };
      return Response.json({}, { status: 201, headers });
    };
    const client = createClient({ url, token: ben.token, fetch: answering });
    const earlier = client.post(MESSAGES, { params: params(), body: { body: 'first' } });
    await client.post(MESSAGES, { params: params(), body: { body: 'second' } });
    first.resolve();
    await earlier;
    await client.get(MESSAGES, { params: params() });
    expect(asked).to.equal('0002');
    // After a restore of the log, the next write has an earlier position.
    await client.post(MESSAGES, { params: params(), body: { body: 'first' } });
    await client.get(MESSAGES, { params: params() });
    expect(asked).to.equal('0001');
  });

  it('gives up after the allowed tries, and repeats no DELETE with an unknown effect', async () => {
    const tried: string[] = [];
    const away = (answer: () => Response) => (request: Request) => {
      tried.push(request.method);
      return Promise.resolve().then(answer);
    };
    const lost = (): Response => {
      throw new TypeError('the connection was lost');
    };
    const retry = { first: 1, times: 2 };
    const unreachable = createClient({ url, token: ben.token, fetch: away(lost), retry });
    const failed = await unreachable.get('/api/v1/tenant/me').catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(TypeError);
    expect(tried.splice(0)).to.deep.equal(['GET', 'GET', 'GET']);
    const path = { params: { path: { id: ben.id } } };
    await unreachable.delete('/api/v1/tenant/files/{id}', path).catch(() => undefined);
    expect(tried.splice(0)).to.deep.equal(['DELETE']);
    const busy = createClient({
      url,
      token: ben.token,
      fetch: away(() => new Response('{"error":"rate_limited"}', { status: 429 })),
      retry,
    });
    const refused = await busy.delete('/api/v1/tenant/files/{id}', path).catch((error: unknown) => error);
    expect(refused).to.include({ status: 429, code: 'rate_limited' });
    expect(tried).to.deep.equal(['DELETE', 'DELETE', 'DELETE']);
  });

  it('ends a wait between tries when the request is aborted', async () => {
    const controller = new AbortController();
    const busy = async (): Promise<Response> => {
      setImmediate(() => controller.abort());
      return new Response('{}', { status: 503, headers: { 'retry-after': '20' } });
    };
    const client = createClient({ url, token: ben.token, fetch: busy });
    const ended = await client
      .get('/api/v1/tenant/me', { signal: controller.signal })
      .catch((error: unknown) => error);
    expect(ended).to.include({ name: 'AbortError' });
  });

  it('iterates over a list page by page, and requests only the pages that are needed', async () => {
    const admin = clientOf(tenant.admin);
    const made = await admin.post('/api/v1/tenant/messaging/conversations', {
      body: { participant_user_ids: [ben.id, (await tenant.person('Cleo')).id] },
    });
    const there = { path: { id: made.id } };
    for (let nth = 0; nth < 7; nth += 1) {
      await admin.post(MESSAGES, { params: there, body: { body: `number ${nth}` } });
    }
    let requests = 0;
    const counting = (request: Request): Promise<Response> => {
      requests += 1;
      return fetch(request);
    };
    const client = createClient({ url, token: tenant.admin.token, fetch: counting });
    const init = { params: { ...there, query: { limit: 3 } } };
    const found = await all(client.items(MESSAGES, init));
    expect(new Set(found.map(({ body }) => body)).size).to.equal(7);
    expect([found.length, requests]).to.deep.equal([7, 3]);
    requests = 0;
    for await (const { body } of client.items(MESSAGES, init)) {
      if (body === 'number 5') break;
    }
    expect(requests).to.equal(1);
  });

  it('sends headers and the signal of a list with the request for each page', async () => {
    const sent: Request[] = [];
    const noting = (request: Request): Promise<Response> => {
      sent.push(request);
      return fetch(request);
    };
    const client = createClient({ url, token: tenant.admin.token, fetch: noting });
    const there = await client.post(BASE, { body: { participant_user_ids: [ben.id] } });
    for (const body of ['one', 'two']) {
      await client.post(MESSAGES, { params: { path: { id: there.id } }, body: { body } });
    }
    sent.length = 0;
    const stop = new AbortController();
    const init = {
      params: { path: { id: there.id }, query: { limit: 1 } },
      headers: { 'x-request-id': 'of-a-list' },
      signal: stop.signal,
    };
    await all(client.items(MESSAGES, init));
    expect(sent.length).to.be.greaterThan(1);
    for (const { headers } of sent) expect(headers.get('x-request-id')).to.equal('of-a-list');
    const reading = client.items(MESSAGES, init);
    await reading.next();
    stop.abort();
    const ended = await all(reading).catch((error: unknown) => error);
    expect(ended).to.include({ name: 'AbortError' });
  });

  it('sends the headers of lines, given in any form of the Fetch API', async () => {
    const sent: [string | null, string | null][] = [];
    const noting = async ({ headers }: Request): Promise<Response> => {
      sent.push([headers.get('accept'), headers.get('x-request-id')]);
      return new Response('{"n":1}\n');
    };
    const client = createClient({ url, token: tenant.admin.token, fetch: noting });
    const given = { 'x-request-id': 'of-lines' };
    for (const headers of [given, new Headers(given)]) {
      const lines = await all(client.lines('/api/v1/tenant/audit/events', { headers }));
      expect(lines).to.deep.equal([{ n: 1 }]);
    }
    expect(sent).to.deep.equal(Array(2).fill(['application/x-ndjson', 'of-lines']));
  });

  it('counts the rows of all pages of a list', async () => {
    const admin = clientOf(tenant.admin);
    const fields = [{ key: 'n', label: 'N', type: 'integer' as const, required: false }];
    await admin.post('/api/v1/tenant/entities', { body: { name: 'counted', label: 'Counted', fields } });
    const path = { name: 'counted' };
    for (let n = 0; n < 5; n += 1) {
      await admin.post('/api/v1/tenant/entities/{name}/records', {
        params: { path },
        body: { values: { n } },
      });
    }
    const count = (query: { filter?: string; count?: 'true' }) =>
      admin.count('/api/v1/tenant/entities/{name}/records', {
        params: { path, query: { ...query, limit: 1 } },
      });
    expect(await count({ count: 'true' })).to.equal(5);
    expect(await count({ count: 'true', filter: 'n > 2' })).to.equal(2);
    expect(await count({})).to.equal(undefined);
  });

  it('streams bytes and JSON lines of an export', async () => {
    const admin = clientOf(tenant.admin);
    const whole = await tenant.admin.api.get('/api/v1/tenant/audit/events', {
      headers: { accept: 'application/x-ndjson' },
    });
    const hash = createHash('sha256');
    const options = { headers: { accept: 'application/x-ndjson' } };
    for await (const chunk of await admin.stream('/api/v1/tenant/audit/events', options)) hash.update(chunk);
    expect(hash.digest('hex')).to.equal(createHash('sha256').update(whole.text).digest('hex'));
    const lines = await all(admin.lines('/api/v1/tenant/audit/events'));
    expect(lines).to.deep.equal(
      whole.text
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line)),
    );
    for await (const line of admin.lines('/api/v1/tenant/audit/events')) {
      expect(line).to.have.property('position');
      break;
    }
    const refused = await clientOf(ben)
      .stream('/api/v1/tenant/audit/events')
      .catch((error: unknown) => error);
    expect(refused).to.include({ status: 403, code: 'admin_required' });
  });
});
