import { expect } from 'chai';
import { listen, startProvider } from '../../support/identity-provider.ts';
import { login } from '../../support/shapes.ts';
import {
  APP,
  callbackOf,
  configure,
  newBrowser,
  sentBack,
  settings,
  startOf,
  tenantAt,
  withProvider,
} from './sso-support.ts';

/** Refused sign-ins, and failures of the provider. */
describe('Single sign-on refuses', () => {
  const scene = withProvider();

  const ann = { sub: 'ann', email: 'ann@corp.example', email_verified: true };

  const refused = (page: { status: number; json: unknown; text: string; headers: Headers }): void => {
    expect(page.status).to.equal(401);
    expect(page.json).to.deep.equal({
      error: 'invalid_credential',
      message: 'The sign-in was not completed. Start again.',
      request_id: page.headers.get('x-request-id'),
    });
    expect(page.headers.getSetCookie()).to.deep.equal([]);
  };

  const start = (path: string) => scene().world.anybody.get(path, { redirect: 'manual' });

  it('unknown tenants, malformed ids and tenants without single sign-on, with the same answer', async () => {
    const { world } = scene();
    const without = await world.tenant();
    const bodies = new Set<string>();
    for (const id of ['nowhere', 'NO-SLUG', 'platform', '%00', '..%2f', without.id]) {
      const answer = await start(`/auth/sso/${id}/start`);
      expect(answer.status, id).to.equal(404);
      bodies.add(answer.text);
    }
    expect(bodies.size).to.equal(1);
  });

  it('a suspended tenant, at the start and at the callback', async () => {
    const { world, provider } = scene();
    const closed = await tenantAt(world, provider);
    const browser = newBrowser(world);
    const callback = await sentBack(world, provider, closed, ann, browser);
    await world.platform.patch(`/super/tenants/${closed.id}`, { status: 'suspended' });
    for (const page of [await browser.visit(startOf(world, closed)), await browser.visit(callback)]) {
      expect(page.status).to.equal(403);
      expect(page.json).to.include({ error: 'tenant_suspended' });
    }
  });

  it('a return_to of any other origin', async () => {
    const { tenant } = scene();
    for (const returnTo of [
      'https://evil.example/',
      'http://app.example/',
      `${APP}.evil.example/`,
      `${APP}:444/`,
      'https://app.example@evil.example/',
      'https://user@app.example/',
      '//app.example/',
      '/path',
      '',
      'javascript:alert(1)//https://app.example',
      'data:text/html,x',
      `${APP}/#own-fragment`,
      `${APP}/#`,
      'https:\\\\evil.example',
      `${APP}/${'x'.repeat(3_000)}`,
    ]) {
      const answer = await start(`/auth/sso/${tenant.id}/start?return_to=${encodeURIComponent(returnTo)}`);
      expect(answer.status, returnTo).to.equal(400);
      expect(answer.error).to.equal('validation_failed');
      expect(answer.headers.getSetCookie()).to.deep.equal([]);
    }
    const twice = await start(`/auth/sso/${tenant.id}/start?return_to=${APP}&return_to=${APP}`);
    expect(twice.status).to.equal(400);
  });

  it('a callback from another browser or without a cookie', async () => {
    const { world, provider, tenant } = scene();
    const attacker = newBrowser(world);
    const callback = await sentBack(world, provider, tenant, ann, attacker);
    refused(await newBrowser(world).visit(callback));
    const victim = newBrowser(world);
    await victim.visit(startOf(world, tenant));
    refused(await victim.visit(callback));
    // The refused attempts have not used up the callback.
    expect((await attacker.visit(callback)).status).to.equal(200);
  });

  it('a used callback, with and without the cookie', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const callback = await sentBack(world, provider, tenant, ann, browser);
    const stolen = [...browser.cookies];
    expect((await browser.visit(callback)).status).to.equal(200);
    refused(await browser.visit(callback));
    browser.cookies = stolen;
    refused(await browser.visit(callback));
  });

  it('a state that is missing, malformed, or of another sign-in', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const callback = await sentBack(world, provider, tenant, ann, browser);
    const other =
      new URL(await sentBack(world, provider, tenant, ann, browser)).searchParams.get('state') ?? '';
    for (const state of [undefined, '', 'x', 'A'.repeat(43), '__proto__']) {
      const url = new URL(callback);
      url.searchParams.delete('state');
      if (state !== undefined) url.searchParams.set('state', state);
      refused(await browser.visit(url.href));
    }
    // Gives the cookie of one sign-in the name of the other's cookie.
    const [name] = browser.cookies
      .filter((cookie) => cookie.name.startsWith('sso_'))
      .map((cookie) => cookie.name);
    const renamed = newBrowser(world);
    renamed.cookies = browser.cookies
      .map((cookie) => (cookie.name.startsWith('sso_') ? { ...cookie, name: name ?? '' } : cookie))
      .reverse();
    const url = new URL(callback);
    url.searchParams.set('state', other);
    refused(await renamed.visit(url.href));
  });

  it('a changed cookie', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const callback = await sentBack(world, provider, tenant, ann, browser);
    const whole = [...browser.cookies];
    const own = whole.find(({ name }) => name.startsWith('sso_'));
    if (own === undefined) throw new Error('there is no cookie');
    const changed = (at: number): string => {
      const bytes = Buffer.from(own.value, 'base64url');
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes.toString('base64url');
    };
    const last = Buffer.from(own.value, 'base64url').length - 1;
    for (const value of [
      changed(0),
      changed(20),
      changed(last),
      own.value.slice(4),
      `${own.value}=`,
      'x',
      '',
    ]) {
      browser.cookies = whole.map((cookie) => (cookie === own ? { ...cookie, value } : cookie));
      refused(await browser.visit(callback));
    }
    browser.cookies = whole;
    expect((await browser.visit(callback)).status).to.equal(200);
  });

  it('the code of another sign-in: PKCE and nonce belong to one sign-in', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const [first, second] = [
      new URL(await sentBack(world, provider, tenant, ann, browser)),
      new URL(await sentBack(world, provider, tenant, ann, browser)),
    ];
    first.searchParams.set('code', second.searchParams.get('code') ?? '');
    refused(await browser.visit(first.href));
    first.searchParams.set('code', 'made-up');
    refused(await browser.visit(first.href));
    first.searchParams.delete('code');
    refused(await browser.visit(first.href));
  });

  it('an answer of another issuer', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const url = new URL(await sentBack(world, provider, tenant, ann, browser));
    url.searchParams.set('iss', 'https://evil.example');
    refused(await browser.visit(url.href));
  });

  it('one tenant’s sign-in for another tenant', async () => {
    const { world, provider, tenant } = scene();
    const other = await startProvider({ redirectUri: callbackOf(world) });
    const there = await tenantAt(world, other);
    const browser = newBrowser(world);
    const [here, foreign] = [
      new URL(await sentBack(world, provider, tenant, ann, browser)),
      new URL(await sentBack(world, other, there, ann, browser)),
    ];
    for (const name of ['code', 'iss']) {
      const [a, b] = [here.searchParams.get(name) ?? '', foreign.searchParams.get(name) ?? ''];
      const mixed = new URL(here);
      mixed.searchParams.set(name, b);
      refused(await browser.visit(mixed.href));
      expect(a).not.to.equal(b);
    }
    // A completed sign-in belongs to the tenant where it began, whatever tenant the address names.
    foreign.searchParams.set('tenant', tenant.id);
    expect(login.parse((await browser.visit(foreign.href)).json).user.tenant_id).to.equal(there.id);
  });

  it('what the provider refuses, without repeating its message', async () => {
    const { world, provider, tenant } = scene();
    for (const error of ['access_denied', 'login_required', 'server_error', '<script>']) {
      const browser = newBrowser(world);
      const url = new URL(await sentBack(world, provider, tenant, ann, browser));
      url.searchParams.delete('code');
      url.searchParams.set('error', error);
      url.searchParams.set('error_description', 'words-of-the-provider');
      refused(await browser.visit(url.href));
    }
    provider.next = { error: 'access_denied' };
    const page = await newBrowser(world).follow(startOf(world, tenant));
    expect(page.url).to.contain('error=access_denied');
    refused(page);
  });

  it('a wrong client secret', async () => {
    const { world, provider } = scene();
    const wrong = await world.tenant();
    await configure(world, wrong, { ...settings(provider), client_secret: 'not-the-secret-of-the-client' });
    const browser = newBrowser(world);
    refused(await browser.visit(await sentBack(world, provider, wrong, ann, browser)));
  });

  const unavailable = (page: { status: number; json: unknown }): void => {
    expect(page.status).to.equal(503);
    expect(page.json).to.include({ error: 'unavailable' });
  };

  it('with 503 while the provider is down, and works again afterwards', async () => {
    const { world } = scene();
    const fleeting = await startProvider({ redirectUri: callbackOf(world) });
    const there = await tenantAt(world, fleeting);
    const browser = newBrowser(world);
    const callback = await sentBack(world, fleeting, there, ann, browser);
    fleeting.away = true;
    unavailable(await browser.visit(callback));
    fleeting.away = false;
    expect((await browser.visit(callback)).status).to.equal(200);
    await fleeting.stop();
    const never = await world.tenant();
    await configure(world, never, settings(fleeting));
    unavailable(await browser.visit(startOf(world, never)));
  });

  it('with 503 a provider that fails, redirects, or sends invalid answers', async () => {
    const { world, provider } = scene();
    const bad = await listen((request, response) => {
      if (request.url?.startsWith('/moved/')) {
        response.writeHead(302, { location: `${provider.issuer}/.well-known/openid-configuration` }).end();
      } else if (request.url?.startsWith('/large/')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end(`"${'x'.repeat(3_000_000)}"`);
      } else if (request.url?.startsWith('/nonsense/')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end('[1]');
      } else response.writeHead(500).end();
    });
    for (const path of ['/failing', '/moved', '/large', '/nonsense']) {
      const there = await world.tenant();
      await configure(world, there, { ...settings(provider), issuer: bad.origin + path });
      unavailable(await newBrowser(world).visit(startOf(world, there)));
    }
  });

  it('with 503 a provider that names another issuer', async () => {
    const { world, provider } = scene();
    const lying = await world.tenant();
    const issuer = provider.issuer.replace('127.0.0.1', 'localhost');
    await configure(world, lying, { ...settings(provider), issuer });
    unavailable(await newBrowser(world).visit(startOf(world, lying)));
  });
});
