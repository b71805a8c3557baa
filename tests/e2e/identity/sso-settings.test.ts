import { expect } from 'chai';
import { findIn, findInText } from '../../support/files.ts';
import { type IdentityProvider, startProvider, stopProviders } from '../../support/identity-provider.ts';
import { randomName, startServer } from '../../support/server.ts';
import { tenant as shape, validationFailed } from '../../support/shapes.ts';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import { APP, callbackOf, configure, newBrowser, settings, signIn, startOf } from './sso-support.ts';

/** Decisions, section 3: settings by platform admins, and the server's own address. */
describe('Settings of single sign-on', () => {
  let world: World;
  let provider: IdentityProvider;

  before(async () => {
    world = await startWorld();
    provider = await startProvider({ redirectUri: callbackOf(world) });
  });
  after(async () => {
    await stopProviders();
    await endWorld();
  });

  const shown = { issuer: 'https://login.example', client_id: 'us', return_origins: [APP] };
  const whole = { ...shown, client_secret: 'a-secret-that-nobody-sees-again' };

  const newTenant = async (own: Record<string, unknown> = {}) =>
    (await world.platform.post('/super/tenants', { id: randomName('t'), name: 'X', ...own })).as(shape, 201);

  it('are absent at first, then set, replaced as a whole, and removed', async () => {
    const { id, sso } = await newTenant();
    expect(sso).to.equal(null);
    const path = `/super/tenants/${id}`;
    expect((await configure(world, { id }, whole)).sso).to.deep.equal(shown);
    expect((await world.platform.get(path)).as(shape).sso).to.deep.equal(shown);
    const other = { issuer: 'https://other.example/x/', client_id: 'them', return_origins: [] };
    expect((await configure(world, { id }, { ...other, client_secret: 's' })).sso).to.deep.equal(other);
    const list = (await world.platform.get('/super/tenants?limit=200')).as(shape.array());
    expect(list.find((each) => each.id === id)?.sso).to.deep.equal(other);
    // Changes of the tenant's other members leave the settings unchanged.
    expect((await world.platform.patch(path, { name: 'Y' })).as(shape).sso).to.deep.equal(other);
    expect((await configure(world, { id }, null)).sso).to.equal(null);
    expect((await configure(world, { id }, null)).sso).to.equal(null);
    expect((await newTenant({ sso: whole })).sso).to.deep.equal(shown);
  });

  it('keep an omitted secret, for the same client only', async () => {
    const tenant = await world.tenant();
    await configure(world, tenant, settings(provider));
    const { client_secret: _secret, ...rest } = settings(provider);
    const changed = await configure(world, tenant, { ...rest, return_origins: [] });
    expect(changed.sso).to.deep.equal({ ...rest, return_origins: [] });
    const page = await signIn(world, provider, tenant, {
      sub: 'ann',
      email: 'ann@corp.example',
      email_verified: true,
    });
    expect(page.status, 'the kept secret is right').to.equal(200);
    for (const own of [{ issuer: 'https://login.example' }, { client_id: 'another' }]) {
      const answer = await world.platform.patch(`/super/tenants/${tenant.id}`, {
        name: 'not this either',
        sso: { ...rest, ...own },
      });
      expect(answer.as(validationFailed, 400).details.field).to.equal('sso.client_secret');
    }
    const after = (await world.platform.get(`/super/tenants/${tenant.id}`)).as(shape);
    expect(after.sso).to.deep.equal({ ...rest, return_origins: [] });
    expect(after.name).not.to.equal('not this either');
    const missing = await world.platform.post('/super/tenants', {
      id: randomName('t'),
      name: 'X',
      sso: rest,
    });
    expect(missing.as(validationFailed, 400).details.field).to.equal('sso.client_secret');
  });

  it('are refused when unsafe, and change nothing', async () => {
    const { id } = await newTenant();
    for (const [own, field] of [
      [{ issuer: 'http://login.example' }, 'sso.issuer'],
      [{ issuer: 'https://u:p@login.example' }, 'sso.issuer'],
      [{ issuer: 'https://login.example?x' }, 'sso.issuer'],
      [{ issuer: 7 }, 'sso.issuer'],
      [{ client_id: '' }, 'sso.client_id'],
      [{ client_secret: '' }, 'sso.client_secret'],
      [{ client_secret: 'a\u0000b' }, 'sso.client_secret'],
      [{ return_origins: undefined }, 'sso.return_origins'],
      [{ return_origins: ['https://app.example/path'] }, 'sso.return_origins.0'],
      [{ return_origins: [APP, 'http://app.example'] }, 'sso.return_origins.1'],
      [
        { return_origins: Array.from({ length: 21 }, (_, i) => `https://a${i}.example`) },
        'sso.return_origins',
      ],
    ] as const) {
      const answer = await world.platform.patch(`/super/tenants/${id}`, {
        name: 'Y',
        sso: { ...whole, ...own },
      });
      expect(answer.as(validationFailed, 400).details.field, JSON.stringify(own)).to.equal(field);
      expect(answer.text).not.to.contain(whole.client_secret);
    }
    expect((await world.platform.get(`/super/tenants/${id}`)).as(shape)).to.include({ name: 'X', sso: null });
    const person = await world.tenant();
    const attempt = await person.admin.api.patch(`/super/tenants/${person.id}`, { sso: whole });
    expect(attempt.status).to.equal(401);
    expect((await world.platform.patch('/super/tenants/nowhere', { sso: whole })).status).to.equal(404);
  });

  it('never reveal the secret, in answers, files or logs', async () => {
    const secret = { secret: whole.client_secret };
    const { id } = await newTenant();
    const keyed = { headers: { 'idempotency-key': 'configure-once' } };
    const answers = [
      await world.platform.patch(`/super/tenants/${id}`, { sso: whole }, keyed),
      await world.platform.patch(`/super/tenants/${id}`, { sso: whole }, keyed),
      await world.platform.get(`/super/tenants/${id}`),
      await world.platform.get('/super/tenants?limit=200'),
    ];
    for (const answer of answers) {
      expect(answer.status).to.equal(200);
      expect(findInText(answer.text, secret)).to.deep.equal([]);
    }
    expect(await findIn(world.server.dataDir, secret)).to.deep.equal([]);
    expect(findInText(world.server.output(), secret)).to.deep.equal([]);
  });

  it('accept plain http on loopback, but not in production', async () => {
    const issuer = 'http://localhost:9999';
    const { id } = await newTenant();
    expect((await configure(world, { id }, { ...whole, issuer })).sso).to.include({ issuer });
    const production = await startServer({ env: { NODE_ENV: 'production' } });
    const platform = world.platform.at(production);
    const body = { id: randomName('t'), name: 'X', sso: { ...whole, issuer } };
    expect((await platform.post('/super/tenants', body)).as(validationFailed, 400).details.field).to.equal(
      'sso.issuer',
    );
    expect((await platform.post('/super/tenants', { ...body, sso: whole })).status).to.equal(201);
    await production.stop();
  });

  /** Begins a sign-in at a new server with `env`. @returns the redirect address that it gives, and its cookie */
  const begun = async (env: Record<string, string>, headers: Record<string, string> = {}) => {
    const server = await startServer({ env });
    const id = randomName('t');
    const platform = world.platform.at(server);
    await platform.post('/super/tenants', { id, name: 'X', sso: settings(provider) });
    const start = await world.anybody
      .at(server)
      .get(`/auth/sso/${id}/start`, { headers, redirect: 'manual' });
    const answer = {
      status: start.status,
      redirectUri: new URL(start.header('location') ?? '').searchParams.get('redirect_uri'),
      cookie: start.headers.getSetCookie()[0] ?? '',
      base: server.base,
    };
    await server.stop();
    return answer;
  };

  it('use PUBLIC_URL, with a cookie for https only', async () => {
    const found = await begun({ PUBLIC_URL: 'https://platform.example/' }, { host: 'elsewhere.example' });
    expect(found.redirectUri).to.equal('https://platform.example/auth/sso/callback');
    expect(found.cookie).to.match(/^__Secure-sso_[0-9a-f]{24}=.+; Secure; SameSite=Lax$/);
  });

  it('use Host, or a trusted proxy’s headers', async () => {
    const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'platform.example' };
    const direct = await begun({}, forwarded);
    expect(direct.redirectUri).to.equal(`${direct.base}/auth/sso/callback`);
    expect(direct.cookie).not.to.contain('Secure');
    const behind = await begun({ TRUST_PROXY: 'loopback' }, forwarded);
    expect(behind.redirectUri).to.equal('https://platform.example/auth/sso/callback');
    expect(behind.cookie).to.contain('; Secure');
  });

  it('have the rate limits of logins, at the start and at the callback', async () => {
    const tenant = await world.tenant();
    await configure(world, tenant, settings(provider));
    await world.server.stop();
    await world.restart({ LOGIN_LIMIT_PER_MINUTE: '3' });
    const browser = newBrowser(world);
    const statuses = [
      (await browser.visit(startOf(world, tenant))).status,
      (await browser.visit(`${callbackOf(world)}?state=x`)).status,
      (await browser.visit(startOf(world, tenant))).status,
      (await browser.visit(startOf(world, tenant))).status,
      (await browser.visit(`${callbackOf(world)}?state=x`)).status,
    ];
    expect(statuses).to.deep.equal([302, 401, 302, 429, 429]);
  });
});
