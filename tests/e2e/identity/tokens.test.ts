import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { KEYS } from '../../support/server.ts';
import { user } from '../../support/shapes.ts';
import {
  now,
  platformClaims,
  platformToken,
  rawToken,
  signed,
  tenantClaims,
  tenantToken,
} from '../../support/tokens.ts';
import {
  BASE,
  endWorld,
  type Member,
  sharedWorld,
  type TestTenant,
  USERS,
  type World,
} from '../../support/world.ts';

const DAY = 86_400;

describe('Tokens', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await sharedWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
  });
  after(endWorld);

  const tenantKey = KEYS.TENANT_JWT_SECRET;
  const me = (token: string) => world.anybody.with(token).get('/api/v1/tenant/me');
  const claims = () => tenantClaims(ada);

  it('are credential_expired from the second of their expiry', async () => {
    for (const exp of [now() - DAY, now() - 1, now()]) {
      const answer = await me(tenantToken(ada, { iat: exp - 60, exp }));
      expect([answer.status, answer.error]).to.deep.equal([401, 'credential_expired']);
    }
  });

  it('minted by another system with exactly the documented claims are accepted', async () => {
    for (const own of [
      {},
      { iat: now() + 30, exp: now() + 90 },
      { iat: now(), exp: now() + DAY },
      { impersonated_by: 'root@platform.example', exp: now() + 3600 },
      { token_use: 'api_test', exp: now() + 3600 },
      { more: { nested: ['claims'] } },
    ]) {
      expect((await me(tenantToken(ada, own))).status, JSON.stringify(own)).to.equal(200);
    }
    expect((await me(rawToken({ alg: 'HS256' }, claims(), tenantKey))).status).to.equal(200);
  });

  for (const [what, header, error] of [
    ['nothing', undefined, 'unauthenticated'],
    ['an empty bearer', 'Bearer ', 'invalid_credential'],
    ['Basic', 'Basic YTpi', 'invalid_credential'],
    ['two tokens', 'Bearer a, Bearer b', 'invalid_credential'],
    ['a bearer with a space in it', 'Bearer a b', 'invalid_credential'],
  ] as const) {
    it(`are required when Authorization has ${what}`, async () => {
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const answer = await world.anybody.get(BASE, { headers });
      expect([answer.status, answer.error]).to.deep.equal([401, error]);
    });
  }

  it('in the query are ignored in REST requests', async () => {
    const answer = await world.anybody.get(`${BASE}?token=${ada.token}&access_token=${ada.token}`);
    expect([answer.status, answer.error]).to.deep.equal([401, 'unauthenticated']);
  });

  it('of one family are refused by the other family', async () => {
    const refusals = [
      await world.platform.get(BASE),
      await world.platform.post(USERS, {}),
      await ada.api.get('/super/tenants'),
      await ada.api.post('/super/tenants', {}),
      await ada.api.get('/super/projections'),
      await world.anybody.with(tenantToken(ada, { role: 'super_admin' })).get('/super/tenants'),
      await world.anybody
        .with(signed({ ...platformClaims(), tenant_id: tenant.id }, tenantKey))
        .get('/super/tenants'),
      await world.anybody.with(platformToken({ role: 'admin' })).get('/super/tenants'),
      await world.anybody.with(platformToken({ exp: now() + 9 * 3600 })).get('/super/tenants'),
    ];
    for (const answer of refusals)
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
    const expired = await world.anybody
      .with(platformToken({ iat: now() - 60, exp: now() - 1 }))
      .get('/super/tenants');
    expect(expired.error).to.equal('credential_expired');
    // A platform admin's record is not looked up: an operations tool may use a synthetic `sub`.
    expect(
      (await world.anybody.with(platformToken({ sub: randomUUID() })).get('/super/tenants')).status,
    ).to.equal(200);
  });

  it('of an unknown person register an active user with the token’s e-mail and role', async () => {
    const person = {
      tenantId: tenant.id,
      id: `sso|${randomUUID()}`,
      email: 'New.Person@sso.example',
      role: 'operator',
    } as const;
    const answers = await Promise.all(Array.from({ length: 10 }, () => me(tenantToken(person))));
    for (const answer of answers) {
      expect(answer.as(user.loose())).to.include({
        id: person.id,
        email: person.email,
        role: 'operator',
        status: 'active',
      });
    }
    const list = (await ada.api.get(`${USERS}?limit=200`)).as(user.array());
    expect(list.filter(({ id }) => id === person.id)).to.have.length(1);
  });

  it('lose their rights at once: role, then account, then tenant', async () => {
    const home = await world.tenant();
    const boss = await home.person('Boss', 'admin');
    expect((await boss.api.patch(`${USERS}/${boss.id}`, { display_name: 'B' })).status).to.equal(200);
    await home.admin.api.patch(`${USERS}/${boss.id}`, { role: 'operator' });
    expect((await boss.api.patch(`${USERS}/${boss.id}`, { display_name: 'C' })).error).to.equal(
      'admin_required',
    );
    expect((await boss.api.get('/api/v1/tenant/me')).as(user.loose()).role).to.equal('operator');
    // A token with the lower role keeps it when the user is promoted.
    const low = tenantToken({ ...boss, role: 'operator' });
    await home.admin.api.patch(`${USERS}/${boss.id}`, { role: 'admin' });
    expect((await world.anybody.with(low).post(USERS, {})).error).to.equal('admin_required');
    expect((await boss.api.patch(`${USERS}/${boss.id}`, { display_name: 'D' })).status).to.equal(200);
    await home.admin.api.patch(`${USERS}/${boss.id}`, { status: 'deactivated' });
    const gone = await boss.api.get(BASE);
    expect([gone.status, gone.error]).to.deep.equal([401, 'invalid_credential']);
    await home.admin.api.patch(`${USERS}/${boss.id}`, { status: 'active' });
    expect((await boss.api.get(BASE)).status).to.equal(200);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    const suspended = await boss.api.get(BASE);
    expect([suspended.status, suspended.error]).to.deep.equal([403, 'tenant_suspended']);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'active' });
    expect((await boss.api.get(BASE)).status).to.equal(200);
  });

  it('of a suspended tenant register nobody', async () => {
    const home = await world.tenant();
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    const fresh = { tenantId: home.id, id: randomUUID(), email: 'x@y.example', role: 'admin' } as const;
    expect((await me(tenantToken(fresh))).error).to.equal('tenant_suspended');
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'active' });
    const list = (await home.admin.api.get(USERS)).as(user.array());
    expect(list.some(({ id }) => id === fresh.id)).to.equal(false);
  });
});
