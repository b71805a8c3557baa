import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { assertion, EXCHANGE, newPartner, PORTAL } from '../../support/partners.ts';
import { listen, refusal } from '../../support/socket.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { KINDS, type Kind, oneOfEach, requestTo, servedRoutes } from './matrix-support.ts';
import { PLANNED, TABLE } from './matrix-table.ts';

/** Sends each of the eight kinds of credential to the WebSocket, to entries without a bearer, and in wrong places. */
describe('Every kind of credential', () => {
  let world: World;
  let home: TestTenant;
  let credentials: Record<Kind, string>;
  /** Routes that require a credential. */
  let guarded: string[];

  before(async function () {
    this.timeout(40_000);
    world = await sharedWorld();
    home = await world.tenant();
    credentials = await oneOfEach(world, home);
    const rules = { ...PLANNED, ...TABLE };
    guarded = (await servedRoutes(world)).filter((route) => rules[route]?.family !== 'public');
    expect(guarded.length).to.be.greaterThan(50);
  });
  after(endWorld);

  const coded = ({ status, error }: Answer) => [status, error];
  const SOCKET: ReadonlySet<Kind> = new Set(['tenant', 'impersonation', 'test']);

  for (const kind of KINDS) {
    it(`${kind}: opens the WebSocket only for a person, from each of the three places`, async () => {
      for (const by of ['query', 'header', 'subprotocol'] as const) {
        if (SOCKET.has(kind)) (await listen(world.server, credentials[kind], { by })).close();
        else {
          const { status, error } = await refusal(world.server, credentials[kind], { by });
          expect([status, error], by).to.deep.equal([401, 'invalid_credential']);
        }
      }
    });

    it(`${kind}: opens a public link only as a link’s token`, async () => {
      const answer = await world.anybody.get(`/public/validate/${credentials[kind]}`);
      if (kind === 'link') expect(answer.status).to.equal(200);
      else {
        const unknown = await world.anybody.get(`/public/validate/${'x'.repeat(43)}`);
        expect([answer.status, answer.text]).to.deep.equal([404, unknown.text]);
      }
    });

    it(`${kind}: is refused as the portal’s assertion, as a password, and as a single sign-on code`, async () => {
      const token = credentials[kind];
      expect(coded(await world.anybody.post(EXCHANGE, { assertion: token }))).to.deep.equal([
        401,
        'invalid_credential',
      ]);
      for (const [path, tenant] of [
        ['/auth/login', home.id],
        ['/super/auth/login', undefined],
      ] as const) {
        // A credential longer than the maximum of a password gets 400.
        const answer = await world.anybody.post(path, { email: home.admin.email, password: token, tenant });
        expect(answer.status, path).to.be.oneOf([400, 401]);
      }
      const answer = await world.anybody.get(`/auth/sso/callback?code=${token}&state=${token}`);
      expect(coded(answer)).to.deep.equal(
        token.length > 512 ? [400, 'validation_failed'] : [401, 'invalid_credential'],
      );
    });
  }

  it('is ignored in a query, a cookie, a body or another header of any route', async () => {
    const NAMES = ['token', 'access_token', 'authorization', 'Authorization', 'bearer', 'jwt', 'api_key'];
    for (const [nth, kind] of KINDS.entries()) {
      const token = credentials[kind];
      const query = NAMES.map((name) => `${name}=${token}`).join('&');
      const headers = {
        cookie: NAMES.map((name) => `${name}=${token}`).join('; '),
        'x-api-key': token,
        'x-auth-token': token,
        'x-access-token': token,
        'proxy-authorization': `Bearer ${token}`,
        'x-authorization': `Bearer ${token}`,
        'sec-websocket-protocol': `bearer, ${token}`,
      };
      // Each route gets a quarter of the kinds, since all routes read a request's credential in one place.
      for (const route of guarded.filter((_, at) => (at + nth) % 4 === 0)) {
        const { method, path, body } = requestTo(route);
        const named = body && Object.fromEntries(NAMES.map((name) => [name, token]));
        const answer = await world.anybody.request(method, `${path}?${query}`, named, { headers });
        expect(coded(answer), `${kind} ${route}`).to.deep.equal([401, 'unauthenticated']);
      }
    }
  }).timeout(60_000);

  it('is required for HEAD as for GET', async () => {
    for (const route of guarded.filter((one) => one.startsWith('GET '))) {
      const url = world.server.base + requestTo(route).path;
      for (const kind of [undefined, 'link', 'tenant'] as const) {
        const headers: Record<string, string> =
          kind === undefined ? {} : { authorization: `Bearer ${credentials[kind]}` };
        const [head, get] = await Promise.all(
          ['HEAD', 'GET'].map((method) => fetch(url, { method, headers })),
        );
        expect(head?.status, `${kind} ${route}`).to.equal(get?.status);
        if (kind !== 'tenant') expect(head?.status, `${kind} ${route}`).to.equal(401);
        expect(await head?.text()).to.equal('');
        await get?.arrayBuffer();
      }
    }
  }).timeout(40_000);

  it('does not include the portal’s assertion, which is never accepted as a bearer token', async () => {
    const { id } = await newPartner(world);
    const api = world.anybody.with(assertion(id));
    for (const path of [`${PORTAL}/me`, '/api/v1/tenant/me', '/super/tenants']) {
      expect(coded(await api.get(path)), path).to.deep.equal([401, 'invalid_credential']);
    }
  });
});
