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
import { BASE, type Member, startWorld, type TestTenant, USERS, type World } from '../../support/world.ts';

const DAY = 86_400;
const HEADER = { alg: 'HS256', typ: 'JWT' };

describe('Tokens', () => {
  let world: World;
  let tenant: TestTenant;
  let ada: Member;

  before(async () => {
    world = await startWorld();
    tenant = await world.tenant();
    ada = await tenant.person('Ada', 'admin');
  });
  after(() => world.end());

  const me = (token: string) => world.anybody.with(token).get('/api/v1/tenant/me');
  const claims = () => tenantClaims(ada);
  const without = (name: string) =>
    Object.fromEntries(Object.entries(claims()).filter(([key]) => key !== name));
  const tenantKey = KEYS.TENANT_JWT_SECRET;
  const parts = (): [string, string, string] => {
    const [header = '', payload = '', signature = ''] = ada.token.split('.');
    return [header, payload, signature];
  };
  const payloadText = (extra: string): string => `${JSON.stringify(claims()).slice(0, -1)},${extra}}`;
  /** The same bytes, another spelling: the last character of 43 carries two bits that mean nothing. */
  const respelled = (): string => {
    const last = ada.token.at(-1) ?? '';
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const twin = alphabet[alphabet.indexOf(last) ^ 1] ?? '';
    return ada.token.slice(0, -1) + twin;
  };

  const REFUSED: readonly (readonly [string, () => string])[] = [
    ['no token at all', () => 'x'],
    ['two parts', () => parts().slice(0, 2).join('.')],
    ['four parts', () => `${ada.token}.x`],
    ['five parts', () => `${ada.token}.x.y`],
    ['an empty signature', () => `${parts()[0]}.${parts()[1]}.`],
    ['alg none', () => `${rawToken({ alg: 'none' }, claims(), 'x').split('.').slice(0, 2).join('.')}.`],
    ['alg nOnE with a signature', () => rawToken({ alg: 'nOnE', typ: 'JWT' }, claims(), tenantKey)],
    ['no alg', () => rawToken({ typ: 'JWT' }, claims(), tenantKey)],
    ['HS384', () => rawToken({ alg: 'HS384', typ: 'JWT' }, claims(), tenantKey, 'sha384')],
    ['HS512', () => rawToken({ alg: 'HS512', typ: 'JWT' }, claims(), tenantKey, 'sha512')],
    ['HS384 in the header alone', () => rawToken({ alg: 'HS384', typ: 'JWT' }, claims(), tenantKey)],
    ['RS256 in the header', () => rawToken({ alg: 'RS256', typ: 'JWT' }, claims(), tenantKey)],
    ['crit', () => rawToken({ ...HEADER, crit: ['x'], x: 1 }, claims(), tenantKey)],
    ['b64 false', () => rawToken({ ...HEADER, b64: false }, claims(), tenantKey)],
    ['the platform’s key', () => signed(claims(), KEYS.PLATFORM_JWT_SECRET)],
    ['the partners’ key', () => signed(claims(), KEYS.PARTNER_JWT_SECRET)],
    ['the exchange’s key', () => signed(claims(), KEYS.PARTNER_EXCHANGE_SECRET)],
    ['the master key', () => signed(claims(), KEYS.MASTER_KEY)],
    ['an empty key', () => signed(claims(), '')],
    ['a platform admin’s token', () => platformToken()],
    ['a platform admin’s claims with the tenants’ key', () => signed(platformClaims(), tenantKey)],
    [
      'a tampered payload',
      () => `${parts()[0]}.${Buffer.from(payloadText('"x":1')).toString('base64url')}.${parts()[2]}`,
    ],
    ['a signature spelled otherwise', respelled],
    ['a padded signature', () => `${ada.token}=`],
    [
      'a signature in plain base64',
      () => `${parts()[0]}.${parts()[1]}.${Buffer.from(parts()[2], 'base64url').toString('base64')}`,
    ],
    ['duplicate claims', () => rawToken(HEADER, payloadText('"role":"admin"'), tenantKey)],
    [
      'a duplicate tenant, escaped',
      () => rawToken(HEADER, payloadText('"tenant\\u005fid":"other"'), tenantKey),
    ],
    ['a payload that is a list', () => rawToken(HEADER, [claims()], tenantKey)],
    ['a payload that is no JSON', () => rawToken(HEADER, 'x', tenantKey)],
    ['no exp', () => signed(without('exp'), tenantKey)],
    ['no iat', () => signed(without('iat'), tenantKey)],
    ['no sub', () => signed(without('sub'), tenantKey)],
    ['no tenant', () => signed(without('tenant_id'), tenantKey)],
    ['no role', () => signed(without('role'), tenantKey)],
    ['no e-mail', () => signed(without('email'), tenantKey)],
    ['exp as a text', () => tenantToken(ada, { exp: String(now() + 60) })],
    ['a negative exp', () => tenantToken(ada, { exp: -1 })],
    [
      'an endless exp',
      () => rawToken(HEADER, JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400'), tenantKey),
    ],
    ['iat two minutes ahead', () => tenantToken(ada, { iat: now() + 120, exp: now() + 600 })],
    ['exp before iat', () => tenantToken(ada, { iat: now(), exp: now() - 10 })],
    ['a lifetime of a day and two minutes', () => tenantToken(ada, { iat: now(), exp: now() + DAY + 120 })],
    ['a long life that is nearly over', () => tenantToken(ada, { iat: now() - 10 * DAY, exp: now() + 60 })],
    [
      'an impersonation of two hours',
      () => tenantToken(ada, { impersonated_by: 'x@y.example', exp: now() + 7200 }),
    ],
    ['a test token of two hours', () => tenantToken(ada, { token_use: 'api_test', exp: now() + 7200 })],
    ['an unknown use', () => tenantToken(ada, { token_use: 'other', exp: now() + 60 })],
    [
      'an extension’s id',
      () => tenantToken(ada, { ext_id: 'unknown', scopes: ['data:read'], exp: now() + 900 }),
    ],
    ['the role super_admin', () => tenantToken(ada, { role: 'super_admin' })],
    ['the role Admin', () => tenantToken(ada, { role: 'Admin' })],
    ['an unknown tenant', () => tenantToken(ada, { tenant_id: 'nowhere' })],
    ['the platform as a tenant', () => tenantToken(ada, { tenant_id: 'platform' })],
    ['a tenant that is no slug', () => tenantToken(ada, { tenant_id: `${tenant.id}.user-x` })],
    ['an empty sub', () => tenantToken(ada, { sub: '' })],
    ['a sub with a line break', () => tenantToken(ada, { sub: 'a\nb' })],
    ['a number as sub', () => tenantToken(ada, { sub: 7 })],
    ['10 KB', () => tenantToken(ada, { more: 'x'.repeat(10_000) })],
    [
      'a forged and expired signature',
      () => signed({ ...claims(), iat: now() - 100, exp: now() - 1 }, 'another key'),
    ],
  ];

  for (const [what, make] of REFUSED) {
    it(`are refused with ${what}`, async () => {
      const answer = await me(make());
      expect([answer.status, answer.error]).to.deep.equal([401, 'invalid_credential']);
    });
  }

  it('that have expired are credential_expired, the very second they do', async () => {
    for (const exp of [now() - DAY, now() - 1, now()]) {
      const answer = await me(tenantToken(ada, { iat: exp - 60, exp }));
      expect([answer.status, answer.error]).to.deep.equal([401, 'credential_expired']);
    }
  });

  it('are taken when another system minted them with exactly the documented claims', async () => {
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
    it(`are asked for when Authorization has ${what}`, async () => {
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const answer = await world.anybody.get(BASE, { headers });
      expect([answer.status, answer.error]).to.deep.equal([401, error]);
    });
  }

  it('in the query are no credential of a REST request', async () => {
    const answer = await world.anybody.get(`${BASE}?token=${ada.token}&access_token=${ada.token}`);
    expect([answer.status, answer.error]).to.deep.equal([401, 'unauthenticated']);
  });

  it('of one family open no door of the other', async () => {
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
    // The admin's record is not looked up: an operations tool may mint with a synthetic sub.
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
    // A token with the lower role stays low when the user is raised.
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
