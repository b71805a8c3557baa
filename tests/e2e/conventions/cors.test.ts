import { expect } from 'chai';
import { z } from 'zod';
import { EXPOSED_HEADERS, READ_HEADERS } from '../../../api/http/cors.ts';
import { listen, refusal } from '../../support/socket.ts';
import { forSuite } from '../../support/suite.ts';
import { sharedWorld } from '../../support/world.ts';

const APP = 'https://app.example';
const OTHER = 'https://evil.example';
const ME = '/api/v1/tenant/me';

/** `CORS_ORIGINS` (decision 48); `cors-browser.test.ts` has the same in a browser. */
describe('Pages of other origins', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld({ CORS_ORIGINS: `${APP}, http://localhost:5173` });
    const tenant = await world.tenant();
    return { world, tenant };
  });

  const preflight = (path: string, origin: string, method = 'PATCH') =>
    fetch(here().world.server.base + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type,idempotency-key',
      },
    });
  const listIn = (value: string | null): string[] => (value ?? '').split(',').map((part) => part.trim());

  it('that are allowed get preflights that a browser keeps for two hours', async () => {
    for (const path of [ME, '/nowhere', '/auth/login']) {
      const answer = await preflight(path, APP);
      expect([answer.status, await answer.text()]).to.deep.equal([204, '']);
      expect(answer.headers.get('access-control-allow-origin')).to.equal(APP);
      expect(answer.headers.get('access-control-max-age')).to.equal('7200');
      expect(answer.headers.get('vary')).to.equal('Origin');
      expect(answer.headers.get('access-control-allow-credentials')).to.equal(null);
    }
  });

  it('may send every method and header of the API document, and read every header that it names', async () => {
    const shape = z.looseObject({
      parameters: z.array(z.looseObject({ in: z.string(), name: z.string() })).optional(),
      responses: z.record(
        z.string(),
        z.looseObject({ headers: z.record(z.string(), z.unknown()).optional() }),
      ),
    });
    const document = z
      .object({ paths: z.record(z.string(), z.record(z.string(), shape)) })
      .parse((await here().world.anybody.get('/openapi.json')).json);
    const answer = await preflight(ME, APP);
    const methods = listIn(answer.headers.get('access-control-allow-methods'));
    const sent = listIn(answer.headers.get('access-control-allow-headers'));
    const exposed = listIn(answer.headers.get('access-control-expose-headers'));
    expect(sent).to.include.members([...READ_HEADERS, 'Authorization', 'If-None-Match', 'traceparent']);
    expect(exposed).to.include.members([...EXPOSED_HEADERS]);
    for (const [path, item] of Object.entries(document.paths)) {
      for (const [method, { parameters = [], responses }] of Object.entries(item)) {
        expect(methods, path).to.include(method.toUpperCase());
        for (const one of parameters) if (one.in === 'header') expect(sent, path).to.include(one.name);
        for (const { headers = {} } of Object.values(responses))
          expect(exposed, path).to.include.members(Object.keys(headers));
      }
    }
  });

  it('that are allowed get the CORS headers with every answer, also with errors and refused methods', async () => {
    const { world, tenant } = here();
    const headers = { origin: APP };
    for (const [answer, status] of [
      [await tenant.admin.api.get(ME, { headers }), 200],
      [await world.anybody.get(ME, { headers }), 401],
      [await tenant.admin.api.get('/nowhere', { headers }), 404],
      [await tenant.admin.api.delete(ME, { headers }), 405],
      [await tenant.admin.api.get(`${ME}?zzz=1`, { headers }), 400],
      [await tenant.admin.api.post('/api/v1/tenant/users', undefined, { headers, raw: '{' }), 400],
      [await tenant.admin.api.get('/api/v1/ws', { headers }), 426],
    ] as const) {
      expect(answer.status).to.equal(status);
      expect(answer.header('access-control-allow-origin'), `${status}`).to.equal(APP);
      expect(answer.header('access-control-expose-headers')).to.contain('X-Request-Id');
      expect(answer.header('vary')).to.equal('Origin');
    }
  });

  it('that are not in the list get no CORS headers, whatever they look like', async () => {
    const { tenant } = here();
    for (const origin of [
      OTHER,
      'null',
      `${APP}.evil.example`,
      `${APP}:8443`,
      'http://app.example',
      APP.toUpperCase(),
      `${APP}, ${OTHER}`,
      '*',
    ]) {
      expect((await preflight(ME, origin)).headers.get('access-control-allow-origin'), origin).to.equal(null);
      const answer = await tenant.admin.api.get(ME, { headers: { origin } });
      expect([answer.status, answer.header('access-control-allow-origin')], origin).to.deep.equal([
        200,
        undefined,
      ]);
      expect(answer.header('vary')).to.equal('Origin');
    }
  });

  it('open a WebSocket when they are in the list or of the server’s own origin, and get 403 otherwise', async () => {
    const { world, tenant } = here();
    const { server } = world;
    const { token } = tenant.admin;
    for (const origin of [APP, 'http://localhost:5173', server.base]) {
      (await listen(server, token, { headers: { origin } })).close();
    }
    const own = new URL(server.base).host;
    for (const origin of [
      ...[OTHER, 'null', '', 'file://', `${APP}/`, APP.toUpperCase(), 'http://127.0.0.1', own, `ws://${own}`],
      ...[
        `${server.base}@evil.example`,
        `http://evil.example#${own}`,
        `http://user@${own}`,
        `${APP}, ${APP}`,
      ],
    ]) {
      for (const by of ['query', 'header', 'subprotocol'] as const) {
        const answer = await refusal(server, token, { by, headers: { origin } });
        expect([answer.status, answer.error], `${origin} ${by}`).to.deep.equal([403, 'forbidden']);
      }
      expect((await refusal(server, 'x', { headers: { origin } })).status, origin).to.equal(401);
    }
  });

  it('are all refused when CORS_ORIGINS is unset', async () => {
    const world = await sharedWorld();
    const { admin } = await world.tenant();
    const headers = { origin: APP };
    const answer = await admin.api.get(ME, { headers });
    expect([answer.header('access-control-allow-origin'), answer.header('vary')]).to.deep.equal([
      undefined,
      undefined,
    ]);
    const options = await fetch(world.server.base + ME, { method: 'OPTIONS', headers });
    expect([options.status, options.headers.get('allow')]).to.deep.equal([204, 'GET, HEAD, OPTIONS']);
    expect((await refusal(world.server, admin.token, { headers })).status).to.equal(403);
    (await listen(world.server, admin.token, { headers: { origin: world.server.base } })).close();
  });
});
