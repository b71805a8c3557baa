import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { findIn, findInText } from '../../support/files.ts';
import { type IdentityProvider, startProvider, stopProviders } from '../../support/identity-provider.ts';
import { randomName, type Server, startServer } from '../../support/server.ts';
import { tenant as shape, validationFailed } from '../../support/shapes.ts';
import { endWorld, LIMITED_LOGINS, sharedWorld, type World } from '../../support/world.ts';
import { APP, callbackOf, configure, settings, signIn } from './sso-support.ts';

/** Decisions, section 3: settings by platform admins, and the server's own address. */
describe('Settings of single sign-on', () => {
  let world: World;
  let provider: IdentityProvider;

  before(async () => {
    world = await sharedWorld();
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

  /** The tenant as the list of all tenants shows it. */
  const listed = async (id: string) => {
    for (let path: string | undefined = '/super/tenants?limit=200'; path !== undefined; ) {
      const page: Answer = await world.platform.get(path);
      const found = page.as(shape.array()).find((each) => each.id === id);
      if (found !== undefined) return found;
      path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
    }
    return undefined;
  };

  it('are absent at first, then set, replaced as a whole, and removed', async () => {
    const { id, sso } = await newTenant();
    expect(sso).to.equal(null);
    const path = `/super/tenants/${id}`;
    expect((await configure(world, { id }, whole)).sso).to.deep.equal(shown);
    expect((await world.platform.get(path)).as(shape).sso).to.deep.equal(shown);
    const other = { issuer: 'https://other.example/x/', client_id: 'them', return_origins: [] };
    expect((await configure(world, { id }, { ...other, client_secret: 's' })).sso).to.deep.equal(other);
    expect((await listed(id))?.sso).to.deep.equal(other);
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

  /** Begins a sign-in at a server. @returns the redirect address that it gives, and its cookie */
  const begun = async (server: Server, headers: Record<string, string>) => {
    const id = randomName('t');
    const platform = world.platform.at(server);
    await platform.post('/super/tenants', { id, name: 'X', sso: settings(provider) });
    const start = await world.anybody
      .at(server)
      .get(`/auth/sso/${id}/start`, { headers, redirect: 'manual' });
    return {
      redirectUri: new URL(start.header('location') ?? '').searchParams.get('redirect_uri'),
      cookie: start.headers.getSetCookie()[0] ?? '',
    };
  };

  it('use PUBLIC_URL, with a cookie for https only', async () => {
    const server = await startServer({ env: { PUBLIC_URL: 'https://platform.example/' } });
    const found = await begun(server, { host: 'elsewhere.example' });
    expect(found.redirectUri).to.equal('https://platform.example/auth/sso/callback');
    expect(found.cookie).to.match(/^__Secure-sso_[0-9a-f]{24}=.+; Secure; SameSite=Lax$/);
    await server.stop();
  });

  it('use Host, or a trusted proxy’s headers', async () => {
    const forwarded = {
      'x-forwarded-for': '198.51.100.30',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'platform.example',
    };
    const direct = await begun(world.server, forwarded);
    expect(direct.redirectUri).to.equal(callbackOf(world));
    expect(direct.cookie).not.to.contain('Secure');
    const behind = await begun((await sharedWorld(LIMITED_LOGINS)).server, forwarded);
    expect(behind.redirectUri).to.equal('https://platform.example/auth/sso/callback');
    expect(behind.cookie).to.contain('; Secure');
  });

  it('have the rate limits of logins, at the start and at the callback', async () => {
    const limited = await sharedWorld(LIMITED_LOGINS);
    const tenant = await limited.tenant();
    await configure(limited, tenant, settings(provider));
    const [start, callback] = [`/auth/sso/${tenant.id}/start`, '/auth/sso/callback?state=x'];
    const headers = { 'x-forwarded-for': '198.51.100.31' };
    const statuses: number[] = [];
    for (const path of [start, callback, start, start, callback]) {
      statuses.push((await limited.anybody.get(path, { headers, redirect: 'manual' })).status);
    }
    expect(statuses).to.deep.equal([302, 401, 302, 429, 429]);
  });
});
