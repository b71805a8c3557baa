import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { extensionToken } from '../../support/delegation.ts';
import { newPartner, PORTAL, partnerToken } from '../../support/partners.ts';
import { ROOT } from '../../support/server.ts';
import { tenantToken } from '../../support/tokens.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { type Kind, oneOfEach, requestTo, servedRoutes } from './matrix-support.ts';
import { PLANNED, TABLE } from './matrix-table.ts';

/** The specification's first rule, on every route: the tenant is always the tenant of the credential. */
describe('A request that names another tenant', () => {
  let world: World;
  let home: TestTenant;
  let other: TestTenant;
  let credentials: Record<Kind, string>;
  let routes: { route: string; scoped: boolean }[];

  before(async function () {
    this.timeout(40_000);
    world = await sharedWorld();
    [home, other] = [await world.tenant(), await world.tenant()];
    const entitled = { plan: 'enterprise', entitlements: { ledger: true, assistant: true } };
    await world.platform.patch(`/super/tenants/${home.id}`, entitled);
    credentials = await oneOfEach(world, home);
    const rules = { ...PLANNED, ...TABLE };
    routes = (await servedRoutes(world)).flatMap((route) => {
      const rule = rules[route];
      // An upload route answers 415 to a body that is not multipart, before it reads a field (uploads.test.ts).
      if (rule?.family !== 'tenant' || (route.startsWith('POST') && route.endsWith('/files'))) return [];
      return [{ route, scoped: rule.scope !== undefined }];
    });
    expect(routes.length).to.be.greaterThan(40);
  });
  after(endWorld);

  const kinds: readonly Kind[] = ['tenant', 'apiToken', 'extension'];
  const send = (kind: Kind, route: string, query: string, own?: object, raw?: string): Promise<Answer> => {
    const { method, path, body } = requestTo(route);
    const sent = body === undefined ? undefined : { ...body, ...own };
    return world.anybody
      .with(credentials[kind])
      .request(method, path + query, sent, { redirect: 'manual', ...(raw === undefined ? {} : { raw }) });
  };
  const calls = () =>
    routes.flatMap(({ route, scoped }) =>
      kinds.filter((kind) => kind === 'tenant' || scoped).map((kind) => ({ route, kind })),
    );
  /** Two of the values, different ones for each call: two are enough, since all routes share one check. */
  const someOf = <T>(values: readonly T[], nth: number): readonly T[] =>
    [nth, nth + 3].flatMap((at) => values.slice(at % values.length, (at % values.length) + 1));
  const MISMATCH = [403, 'tenant_mismatch'] as const;
  const coded = ({ status, error }: Answer) => [status, error];

  it('in the query is refused, in any spelling, and when the parameter is repeated', async () => {
    const spellings = [
      '?tenant_id=',
      `?tenant_id=${home.id}&tenant_id=${other.id}`,
      `?tenant_id=${other.id}&tenant_id=${home.id}`,
      `?tenant%5Fid=${other.id}`,
      `?%74enant_id=${other.id}`,
      `?x=1&tenant_id=%20${home.id}`,
      `?tenant_id=${home.id.toUpperCase()}`,
    ];
    for (const [nth, { route, kind }] of calls().entries()) {
      for (const query of [`?tenant_id=${other.id}`, ...someOf(spellings, nth)]) {
        expect(coded(await send(kind, route, query)), `${kind} ${route} ${query}`).to.deep.equal(MISMATCH);
      }
    }
  }).timeout(60_000);

  it('in the body is refused, for any type of value', async () => {
    const values = ['', 0, false, [], {}, [home.id, other.id], { $ne: '' }];
    for (const [nth, { route, kind }] of calls().entries()) {
      if (requestTo(route).body === undefined) continue;
      for (const tenant_id of [other.id, ...someOf(values, nth)]) {
        const where = `${kind} ${route} ${JSON.stringify(tenant_id)}`;
        expect(coded(await send(kind, route, '', { tenant_id })), where).to.deep.equal(MISMATCH);
      }
      const twice = `{"tenant_id":"${home.id}","tenant_id":"${other.id}"}`;
      expect(coded(await send(kind, route, '', {}, twice)), route).to.deep.equal(MISMATCH);
    }
  }).timeout(60_000);

  it('in a nested key, another spelling or a prototype has no effect', async () => {
    const raw = `{"email":"n@people.example","display_name":"N","role":"operator","__proto__":{"tenant_id":"${other.id}"},"constructor":{"prototype":{"tenant_id":"${other.id}"}},"Tenant_Id":"${other.id}","tenantId":"${other.id}","tenant":"${other.id}","nested":{"tenant_id":"${other.id}"}}`;
    const { token } = home.admin;
    const answer = await world.anybody.with(token).post('/api/v1/tenant/users', undefined, { raw });
    expect(answer.status).to.equal(201);
    expect((await other.admin.api.get('/api/v1/tenant/users')).text).not.to.contain('n@people.example');
    expect((await home.admin.api.get('/api/v1/tenant/users')).text).to.contain('n@people.example');
    expect((await world.anybody.with(token).get('/api/v1/tenant/me')).status).to.equal(200);
  });

  it('by a reserved name (platform, partner) or the name of an inherited property is refused', async () => {
    const partner = await newPartner(world);
    const REFUSED = [401, 'invalid_credential'] as const;
    for (const name of ['platform', `partner_${partner.id}`, 'constructor', '__proto__', 'toString']) {
      const token = tenantToken({ ...home.admin, tenantId: name });
      expect(coded(await world.anybody.with(token).get('/api/v1/tenant/me')), name).to.deep.equal(REFUSED);
      const login = await world.anybody.post('/auth/login', { ...ROOT, tenant: name });
      expect(coded(login), name).to.deep.equal(REFUSED);
      for (const answer of [
        await world.platform.post(`/super/impersonate/${name}`),
        await world.platform.get(`/super/tenants/${name}`),
      ]) {
        expect(coded(answer), name).to.deep.equal([404, 'not_found']);
      }
      const foreign = world.anybody.with(partnerToken(name));
      expect(coded(await foreign.get(`${PORTAL}/me`)), name).to.deep.equal([
        403,
        'partner_permission_missing',
      ]);
      const extension = extensionToken(home.admin, name.toLowerCase());
      expect(coded(await world.anybody.with(extension).get('/api/v1/tenant/me')), name).to.deep.equal(
        REFUSED,
      );
    }
  });
});
