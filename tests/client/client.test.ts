import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { ApiError, createClient, type SocketState } from '../../client/src/index.ts';
import { severalTicks } from '../support/eventually.ts';
import { eventually } from '../support/server.ts';
import { tenantToken } from '../support/tokens.ts';
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

  describe('socket', () => {
    it('gets a new token when one has expired, and resumes', async () => {
      const soon = Math.floor(Date.now() / 1000) + 2;
      const tokens = [tenantToken(ben, { exp: soon })];
      const token = (): string => tokens.shift() ?? ben.token;
      const seen: string[] = [];
      const states: SocketState[] = [];
      const socket = createClient({ url, token }).socket({
        onEnvelope: (each) => each.kind === 'message' && seen.push(each.message.body),
        onState: (state) => states.push(state),
        retry: { first: 1 },
      });
      await eventually(
        'a second connection',
        () => states.filter(({ kind }) => kind === 'ready').length === 2,
      );
      await clientOf(tenant.admin).post(MESSAGES, { params: params(), body: { body: 'still there?' } });
      await eventually('the message', () => seen.includes('still there?'));
      expect(states.filter(({ kind }) => kind === 'ready')).to.deep.equal([
        { kind: 'ready', resumed: false },
        { kind: 'ready', resumed: true },
      ]);
      const { position } = socket;
      socket.close();
      expect(states.at(-1)).to.deep.equal({ kind: 'closed' });
      // Another socket goes on where this one ended.
      await clientOf(tenant.admin).post(MESSAGES, { params: params(), body: { body: 'while away' } });
      const later: string[] = [];
      const next = clientOf(ben).socket({
        after: position,
        onEnvelope: (each) => each.kind === 'message' && later.push(each.message.body),
      });
      await eventually('the message', () => later.length > 0);
      next.close();
      expect(later).to.deep.equal(['while away']);
    }).timeout(30_000);

    it('connects without a position when the server refuses the given one', async () => {
      const states: SocketState[] = [];
      const socket = createClient({ url, token: ben.token }).socket({
        after: 'no position',
        onEnvelope: () => undefined,
        onState: (state) => states.push(state),
        retry: { first: 1 },
      });
      const ready = await eventually('a connection', () => states.find(({ kind }) => kind === 'ready'));
      expect(ready).to.deep.equal({ kind: 'ready', resumed: false });
      socket.close();
    });

    it('ends with the reason when the credential is refused for good', async () => {
      const states: SocketState[] = [];
      createClient({ url, token: 'nobody' }).socket({
        onEnvelope: () => undefined,
        onState: (state) => states.push(state),
      });
      const last = await eventually('the end', () => states.find(({ kind }) => kind === 'closed'));
      expect(last).to.have.property('error').that.includes({ status: 401, code: 'invalid_credential' });
    });

    it('reports its first state when the caller has the socket', async () => {
      const seen: (string | undefined)[] = [];
      const socket = clientOf(ben).socket({
        onEnvelope: () => undefined,
        onState: ({ kind }) => seen.push(`${kind} ${socket.position === undefined}`),
      });
      await eventually('a connection', () => seen.length > 1);
      socket.close();
      expect(seen).to.deep.equal(['connecting true', 'ready false', 'closed false']);
      seen.length = 0;
      clientOf(ben)
        .socket({ onEnvelope: () => undefined, onState: ({ kind }) => seen.push(kind) })
        .close();
      await severalTicks();
      expect(seen).to.deep.equal(['closed']);
    });

    it('waits for a token that can be sent, and ends when there will be none', async () => {
      const tokens = [''];
      const states: SocketState[] = [];
      const token = (): string => tokens.shift() ?? ben.token;
      const socket = createClient({ url, token }).socket({
        onEnvelope: () => undefined,
        onState: (state) => states.push(state),
        retry: { first: 1 },
      });
      await eventually('a connection', () => states.at(-1)?.kind === 'ready');
      socket.close();
      expect(states.map(({ kind }) => kind).slice(0, 3)).to.deep.equal([
        'connecting',
        'waiting',
        'connecting',
      ]);
      states.length = 0;
      createClient({ url, token: '' }).socket({
        onEnvelope: () => undefined,
        onState: (state) => states.push(state),
      });
      const last = await eventually('the end', () => states.find(({ kind }) => kind === 'closed'));
      expect(last).to.have.property('error').that.includes({ status: 401 });
    });

    it('tries again when a failed handshake is not explained in time', async () => {
      const { timeout } = AbortSignal;
      const limits: number[] = [];
      AbortSignal.timeout = (ms) => {
        limits.push(ms);
        return timeout.call(AbortSignal, 1);
      };
      try {
        const states: SocketState[] = [];
        const silent = ({ signal }: Request): Promise<Response> =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        const unreachable = createClient({ url: 'http://127.0.0.1:1', token: 'any', fetch: silent });
        const socket = unreachable.socket({
          onEnvelope: () => undefined,
          onState: (state) => states.push(state),
          retry: { first: 1 },
        });
        await eventually('a second try', () => states.filter(({ kind }) => kind === 'connecting').length > 1);
        socket.close();
        expect(limits[0]).to.equal(15_000);
      } finally {
        AbortSignal.timeout = timeout;
      }
    });

    const HELLO = {
      kind: 'message',
      event: 'created',
      position: 'q1',
      conversation_id: 'c',
      message: { body: 'hello' },
    };

    /** A server that sends one list of frames to each connection; by default it closes all but the last one. */
    const startServerOf = async (frames: readonly (readonly object[])[], closes = true) => {
      const asked: (string | null)[] = [];
      const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => 'bearer' });
      server.on('connection', (socket, request) => {
        const own = frames[asked.length] ?? [];
        asked.push(new URL(request.url ?? '', 'http://server').searchParams.get('after'));
        for (const frame of own) socket.send(JSON.stringify(frame));
        if (closes && asked.length < frames.length) socket.close(1012);
      });
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      return { asked, client: createClient({ url: `http://127.0.0.1:${port}`, token: 'any' }), server };
    };

    it('reports a resync, and continues after it', async () => {
      const { asked, client, server } = await startServerOf([
        [{ kind: 'system', event: 'ready', position: 'p1' }],
        [
          { kind: 'system', event: 'ready', position: 'p1' },
          { kind: 'system', event: 'resync', position: 'p9' },
        ],
        [{ kind: 'system', event: 'ready', position: 'p9' }, HELLO],
      ]);
      const handed: string[] = [];
      const socket = client.socket({
        onEnvelope: (each) => each.kind === 'message' && handed.push(each.message.body),
        onResync: (position) => handed.push(`resync ${position}`),
        retry: { first: 1 },
      });
      await eventually('the envelope', () => handed.includes('hello'));
      socket.close();
      server.close();
      expect(handed).to.deep.equal(['resync p9', 'hello']);
      expect(asked).to.deep.equal([null, 'p1', 'p9']);
      expect(socket.position).to.equal('q1');
    });

    it('sends empty frames, so that it notices a connection that the server no longer has', async () => {
      const ready = [{ kind: 'system', event: 'ready', position: 'p1' }];
      const { asked, client, server } = await startServerOf([ready, ready], false);
      server.on('connection', (socket) => socket.on('message', () => socket.terminate()));
      const { setInterval } = globalThis;
      const intervals: (number | undefined)[] = [];
      globalThis.setInterval = ((run: () => void, ms?: number) => {
        intervals.push(ms);
        return setInterval(run, 5);
      }) as typeof setInterval;
      try {
        const socket = client.socket({ onEnvelope: () => undefined, retry: { first: 1 } });
        await eventually('a second connection', () => asked.length > 1);
        socket.close();
      } finally {
        globalThis.setInterval = setInterval;
        server.close();
      }
      expect(asked).to.deep.equal([null, 'p1']);
      expect(intervals[0]).to.equal(30_000);
    });

    it('ignores frames of unknown kinds', async () => {
      const { client, server } = await startServerOf([
        [
          { kind: 'system', event: 'ready', position: 'p1' },
          { kind: 'presence', event: 'changed', position: 'p2', user_id: 'ann' },
          { kind: 'system', event: 'notice', position: 'p3' },
          HELLO,
        ],
      ]);
      const handed: string[] = [];
      const socket = client.socket({ onEnvelope: ({ kind }) => handed.push(kind) });
      await eventually('the message', () => handed.includes('message'));
      socket.close();
      server.close();
      expect(handed).to.deep.equal(['message']);
    });
  });
});
