import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { z } from 'zod';
import { errorAnswer, STATUS_OF } from '../../../api/http/errors.ts';
import type { Readiness } from '../../../api/http/health.ts';
import { createMetrics } from '../../../api/http/metrics.ts';
import { type Reply, route } from '../../../api/http/route.ts';
import { Router } from '../../../api/http/router.ts';
import { instant, limit, position, text, uuid } from '../../../api/http/schemas.ts';
import { EventTooLarge, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { DomainError, ERROR_CODES } from '../../../domain/core/errors.ts';
import { testRoutes } from './routes.ts';
import { type LogLine, recordingLogger, serve } from './support.ts';

describe('Errors', () => {
  for (const code of ERROR_CODES) {
    it(`${code} has a status`, () => {
      expect(STATUS_OF[code]).to.be.within(400, 599);
      const answer = errorAnswer(new DomainError(code, 'Words.', { a: 1 }));
      expect(answer.status).to.equal(STATUS_OF[code]);
      expect(answer.headers?.['WWW-Authenticate']).to.equal(answer.status === 401 ? 'Bearer' : undefined);
    });
  }

  it('have a status for each defined code and for no other code', () => {
    expect(Object.keys(STATUS_OF).sort()).to.deep.equal([...ERROR_CODES].sort());
  });

  it('that ports throw get a status and a body', () => {
    expect(errorAnswer(new StoreUnavailable('x'))).to.deep.include({
      status: 503,
      headers: { 'Retry-After': '1' },
    });
    expect(errorAnswer(new EventTooLarge('x')).body).to.deep.include({
      error: 'payload_too_large',
      details: { limit: 524_288 },
    });
    for (const odd of [new Error('inside'), 'text', undefined, null, { code: 'not_found' }]) {
      expect(errorAnswer(odd).status).to.equal(500);
      expect(JSON.stringify(errorAnswer(odd))).not.to.contain('inside');
    }
  });

  it('ask for at least one whole second of wait', () => {
    for (const [given, sent] of [
      [0.2, '1'],
      [2.1, '3'],
      ['x', '1'],
      [undefined, '1'],
    ] as const) {
      const { headers } = errorAnswer(new DomainError('unavailable', 'x', { retry_after: given }));
      expect(headers).to.deep.equal({ 'Retry-After': sent });
    }
  });
});

describe('Health and metrics', () => {
  it('distinguish live from ready', async () => {
    let found: Awaited<ReturnType<Readiness>> = {
      checks: { event_store: 'failed', read_models: 'catching_up' },
      serves: false,
    };
    const server = await serve([], { readiness: async () => found });
    expect((await server.request('GET', '/health/live')).json).to.deep.equal({ status: 'live' });
    const not = await server.request('GET', '/health/ready');
    expect(not.status).to.equal(503);
    expect(not.json).to.include({ error: 'unavailable', status: 'unavailable' });
    expect(not.json.checks).to.deep.equal(found.checks);
    for (const serves of [false, true]) {
      found = { checks: { event_store: 'ok', read_models: 'catching_up' }, serves };
      const behind = await server.request('GET', '/health/ready');
      expect([behind.status, behind.json.status]).to.deep.equal([serves ? 200 : 503, 'catching_up']);
    }
    for (const [checks, status] of [
      [{ read_models: 'catching_up', first_run: 'starting' }, 'starting'],
      [{ read_models: 'catching_up', workers: 'missing' }, 'no_worker'],
      [{ event_store: 'failed', workers: 'missing' }, 'unavailable'],
    ] as const) {
      found = { checks, serves: false };
      const answer = await server.request('GET', '/health/ready');
      expect([answer.status, answer.json.status, answer.json.checks]).to.deep.equal([503, status, checks]);
    }
    found = { checks: { event_store: 'ok', read_models: 'ok' }, serves: true };
    const ready = await server.request('GET', '/health/ready');
    expect(ready.status).to.equal(200);
    expect(ready.json.status).to.equal('ready');
    await server.close();
  });

  it('count answers by route pattern, method and class of status', async () => {
    const metrics = createMetrics({ process: false });
    const server = await serve(testRoutes(), { metrics });
    await server.request('GET', '/api/v1/things/x', { as: 'admin' });
    await server.request('GET', '/nowhere/secret');
    metrics.eventsAppended(3, 0.01);
    metrics.eventsProjected('things', 2, 0.01);
    metrics.projectionLag('things', 1.5);
    metrics.parkedTenants('things', 1);
    metrics.socketsOpen(4);
    metrics.envelopesSent(5);
    const { text: page, headers } = await server.request('GET', '/metrics');
    expect(headers.get('content-type')).to.match(/^text\/plain/);
    expect(page).to.contain(
      'workflow_http_request_duration_seconds_count{method="GET",route="/api/v1/things/:id",status="4xx"} 1',
    );
    expect(page).to.contain('{method="*",route="unmatched",status="4xx"} 1').and.not.contain('secret');
    for (const line of [
      'workflow_events_appended_total 3',
      'workflow_events_projected_total{projection="things"} 2',
      'workflow_projection_lag_seconds{projection="things"} 1.5',
      'workflow_projection_parked_tenants{projection="things"} 1',
      'workflow_websockets_open 4',
      'workflow_websocket_envelopes_total 5',
    ]) {
      expect(page).to.contain(line);
    }
    await server.close();
  });
});

describe('Replies other than JSON', () => {
  const reply = (path: string, make: () => Reply) =>
    route({
      method: 'get',
      path,
      operationId: path.slice(1),
      summary: path,
      description: 'A route of the tests.',
      tag: 't',
      access: { kind: 'public' },
      responses: { 200: null },
      handle: async () => make(),
    });
  const type = { 'Content-Type': 'text/csv' };
  const lines: LogLine[] = [];

  it('are sent unchanged', async () => {
    const server = await serve(
      [
        reply('/text', () => ({ status: 200, headers: type, body: 'a,b' })),
        reply('/bytes', () => ({ status: 200, headers: type, body: Buffer.from('a,b') })),
        reply('/stream', () => ({ status: 200, headers: type, body: Readable.from(['a', ',b']) })),
        reply('/odd', () => ({ status: 200, body: { big: 1n } })),
        reply('/header', () => ({ status: 200, body: {}, headers: { X: 'a\r\nb' } })),
      ],
      { logger: recordingLogger(lines) },
    );
    for (const path of ['/text', '/bytes', '/stream']) {
      const answer = await server.request('GET', path);
      expect([answer.text, answer.headers.get('content-type')]).to.deep.equal(['a,b', 'text/csv']);
    }
    for (const path of ['/odd', '/header']) {
      const answer = await server.request('GET', path);
      expect([answer.status, answer.json.error]).to.deep.equal([500, 'internal_error']);
    }
    await server.close();
  });
});

describe('The router', () => {
  it('refuses a second route for a path, and segments other than plain text and parameters', () => {
    const router = new Router<number>();
    router.add('GET', '/a/:id', 1);
    expect(() => router.add('GET', '/a/:other', 2)).to.throw('twice');
    for (const bad of ['a', '/a*', '/{a}', '/a:id', '/:a?'])
      expect(() => router.add('GET', bad, 1)).to.throw();
  });

  it('backtracks from a fixed segment without a match', () => {
    const router = new Router<number>();
    router.add('GET', '/a/b/c', 1);
    router.add('GET', '/a/:x/d', 2);
    router.add('GET', '/:y/b/e', 3);
    const found = (path: string) => {
      const match = router.find(path);
      return [match?.resource.endpoints.get('GET')?.target, match?.values];
    };
    expect(found('/a/b/c')).to.deep.equal([1, []]);
    expect(found('/a/b/d')).to.deep.equal([2, ['b']]);
    expect(found('/a/b/e')).to.deep.equal([3, ['a']]);
    expect(found('/a//d')).to.deep.equal([undefined, undefined]);
  });
});

describe('Shared schemas', () => {
  const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;

  it('check their values', () => {
    expect(accepts(text({ max: 2 }), '👍👍')).to.equal(true);
    for (const bad of ['', 'abc', '\ud83d', 'a\0', 5]) expect(accepts(text({ max: 2 }), bad)).to.equal(false);
    expect(accepts(text({ min: 0, max: 2 }), '')).to.equal(true);
    expect(accepts(uuid, '0192abcd-0000-7000-8000-000000000001')).to.equal(true);
    expect(accepts(uuid, '0192ABCD-0000-7000-8000-000000000001')).to.equal(false);
    for (const [given, used] of [
      [undefined, 50],
      ['0', 1],
      ['-3', 1],
      ['7', 7],
      ['201', 200],
    ] as const) {
      expect(limit().parse(given)).to.equal(used);
    }
    for (const bad of ['', '1.0', '1e2', 'NaN', ' 1', ['1', '2']])
      expect(accepts(limit(), bad)).to.equal(false);
    expect(instant.parse('2026-11-30T01:00:00+02:00')).to.equal('2026-11-29T23:00:00.000Z');
    // An offset can move an instant out of the years 0 to 9999; its text would then sort before all other instants.
    const outside = ['9999-12-31T23:59:59-14:00', '0000-01-01T00:00:00+14:00'];
    for (const bad of ['2026-02-30T00:00:00Z', '2026-11-30', '2026-11-30T00:00:00', ...outside]) {
      expect(accepts(instant, bad)).to.equal(false);
    }
    expect(accepts(position, 'p 1')).to.equal(false);
  });
});
