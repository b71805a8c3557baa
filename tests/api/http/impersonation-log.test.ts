import { Readable } from 'node:stream';
import { expect } from 'chai';
import { z } from 'zod';
import type { Authenticate } from '../../../api/http/authorization.ts';
import { createRateLimits } from '../../../api/http/rate-limits.ts';
import { type Reply, type Route, type RouteRequest, route } from '../../../api/http/route.ts';
import type { ImpersonatedLine } from '../../../application/identity/impersonation.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { admin, authenticate, type LogLine, recordingLogger, serve, type TestServer } from './support.ts';

/** The token `acting` is of a platform admin who impersonates the admin; other tokens are unchanged. */
const withActing: Authenticate = (token, family) =>
  token === 'acting' && family === 'tenant'
    ? { ...admin, impersonatedBy: 'root@platform.test' }
    : authenticate(token, family);

const access = { kind: 'principals', kinds: ['user'] } as const;
const base = { tag: 'T', summary: 'S', description: 'D', access, responses: { 200: null } } as const;

describe('A request under impersonation', () => {
  let server: TestServer;
  let lines: ImpersonatedLine[];
  let logged: LogLine[];
  let leave: () => Promise<void>;
  let reply: () => Reply;
  let appends: boolean;

  const handle = async ({
    context: { cause },
  }: Pick<RouteRequest<never, never, never>, 'context'>): Promise<Reply> => {
    if (appends && cause.impersonationLog !== undefined) cause.impersonationLog.appended = true;
    return reply();
  };
  const routes = (): Route[] => [
    route({ ...base, method: 'get', path: '/things', operationId: 'listThings', handle }),
    route({
      ...base,
      method: 'get',
      path: '/api/things/:id/parts/:part',
      aliases: ['/things/:id/parts/:part'],
      operationId: 'getPart',
      openQuery: true,
      params: z.object({ id: z.string().max(10), part: z.string().transform(Number) }),
      handle,
    }),
    route({
      ...base,
      method: 'put',
      path: '/things/:id',
      operationId: 'putThing',
      body: z.object({ n: z.int() }),
      handle,
    }),
    route({
      ...base,
      access: { ...access, roles: ['operator'] },
      method: 'post',
      path: '/operators',
      operationId: 'operate',
      handle,
    }),
  ];

  beforeEach(async () => {
    lines = [];
    logged = [];
    leave = async () => undefined;
    reply = () => ({ status: 200, body: { secret: 'of the tenant' } });
    appends = false;
    server = await serve(routes(), {
      authenticate: withActing,
      logger: recordingLogger(logged),
      appendLine: async (line) => {
        await leave();
        lines.push(line);
      },
    });
  });
  afterEach(() => server.close());

  const statuses = () => lines.map(({ status }) => status);

  it('logs a read before its answer, with the route’s pattern, not the path or the query', async () => {
    const held = Promise.withResolvers<void>();
    leave = () => held.promise;
    let answered = false;
    const asking = server
      .request('GET', '/things/a1/parts/7?token=x', { as: 'acting', headers: { 'X-Request-Id': 'r1' } })
      .then((answer) => {
        answered = true;
        return answer;
      });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(answered).to.equal(false);
    held.resolve();
    expect((await asking).status).to.equal(200);
    expect(lines).to.deep.equal([
      {
        principal: { ...admin, impersonatedBy: 'root@platform.test' },
        requestId: 'r1',
        method: 'GET',
        route: '/api/things/:id/parts/:part',
        operationId: 'getPart',
        status: 200,
        params: { id: 'a1' },
      },
    ]);
  });

  it('logs HEAD', async () => {
    expect((await server.request('HEAD', '/things', { as: 'acting' })).status).to.equal(200);
    expect(lines.map(({ method }) => method)).to.deep.equal(['HEAD']);
  });

  it('logs every refusal that follows the check of the rate limit', async () => {
    const put = (body: unknown) => server.request('PUT', '/things/t1', { as: 'acting', body });
    expect((await server.request('POST', '/operators', { as: 'acting' })).json.error).to.equal(
      'admin_required',
    );
    expect((await put('{')).json.error).to.equal('malformed_json');
    expect((await put({ n: 'x' })).json.error).to.equal('validation_failed');
    expect((await put({ n: 1, tenant_id: 'globex' })).json.error).to.equal('tenant_mismatch');
    expect(
      (await server.request('GET', `/things/${'x'.repeat(11)}/parts/1`, { as: 'acting' })).status,
    ).to.equal(404);
    reply = () => {
      throw new DomainError('conflict', 'no');
    };
    expect((await put({ n: 1 })).status).to.equal(409);
    reply = () => {
      throw new Error('a mistake of ours');
    };
    expect((await put({ n: 1 })).status).to.equal(500);
    expect(statuses()).to.deep.equal([403, 400, 400, 403, 404, 409, 500]);
    expect(lines[4]?.params).to.deep.equal({});
    expect(lines[5]?.params).to.deep.equal({ id: 't1' });
  });

  it('logs no line when a write appended events, but one when it failed or changed nothing', async () => {
    const put = () => server.request('PUT', '/things/t1', { as: 'acting', body: { n: 1 } });
    appends = true;
    expect((await put()).status).to.equal(200);
    expect(statuses()).to.deep.equal([]);
    reply = () => {
      throw new DomainError('conflict', 'half way');
    };
    expect((await put()).status).to.equal(409);
    expect(statuses()).to.deep.equal([409]);
    appends = false;
    reply = () => ({ status: 200 });
    expect((await put()).status).to.equal(200);
    expect(statuses()).to.deep.equal([409, 200]);
  });

  it('is answered 503 when its line cannot be written', async () => {
    for (const failure of [new StoreUnavailable('no connection'), new Error('a mistake of ours')]) {
      let tries = 0;
      leave = async () => {
        tries += 1;
        throw failure;
      };
      for (const [method, path, body] of [
        ['GET', '/things', undefined],
        ['PUT', '/things/t1', { n: 1 }],
        ['PUT', '/things/t1', { n: 'x' }],
      ] as const) {
        tries = 0;
        const answer = await server.request(method, path, { as: 'acting', body });
        expect([answer.status, answer.json.error, answer.headers.get('retry-after')]).to.deep.equal([
          503,
          'unavailable',
          '1',
        ]);
        expect(answer.text).not.to.contain('of the tenant').and.not.to.contain('mistake');
        expect(tries).to.equal(1);
      }
    }
    expect(logged.filter(({ level }) => level === 'error')).to.have.length(6);
  });

  it('ends the source of a stream that is not sent', async () => {
    const source = Readable.from(['a', 'b']);
    leave = async () => {
      throw new StoreUnavailable('no connection');
    };
    reply = () => ({ status: 200, headers: { 'Content-Type': 'text/plain' }, body: source });
    expect((await server.request('GET', '/things', { as: 'acting' })).status).to.equal(503);
    expect(source.destroyed).to.equal(true);
  });

  it('logs no rate-limited request', async () => {
    const clock = { now: () => 0 };
    const limited = await serve(routes(), {
      authenticate: withActing,
      limits: createRateLimits({ requestsPerMinute: 5, loginsPerMinute: 0 }, clock),
      appendLine: async (line) => void lines.push(line),
    });
    expect((await limited.request('GET', '/things', { as: 'acting' })).status).to.equal(200);
    expect((await limited.request('GET', '/things', { as: 'acting' })).status).to.equal(429);
    expect(statuses()).to.deep.equal([200]);
    await limited.close();
  });

  it('logs nothing for other principals, unknown paths and refused credentials', async () => {
    for (const [method, path, as] of [
      ['GET', '/things', 'admin'],
      ['PUT', '/things/t1', 'operator'],
      ['GET', '/things', 'late'],
      ['GET', '/things', undefined],
      ['GET', '/nowhere', 'acting'],
      ['DELETE', '/things', 'acting'],
      ['GET', '/health/live', 'acting'],
    ] as const) {
      await server.request(method, path, as === undefined ? {} : { as });
    }
    expect(lines).to.deep.equal([]);
  });
});
