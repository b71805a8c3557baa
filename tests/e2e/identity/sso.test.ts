import { expect } from 'chai';
import { startProvider } from '../../support/identity-provider.ts';
import { eventually } from '../../support/server.ts';
import { login, users } from '../../support/shapes.ts';
import { sharedWorld, USERS } from '../../support/world.ts';
import {
  APP,
  callbackOf,
  configure,
  newBrowser,
  sentBack,
  settings,
  signIn,
  startOf,
  tenantAt,
  withProvider,
} from './sso-support.ts';

/** Decisions, section 3, single sign-on: the complete flow with a real provider. */
describe('Single sign-on', () => {
  const scene = withProvider(() => sharedWorld({ LOG_LEVEL: 'trace' }));

  const ada = { sub: 'ada-1', email: 'Ada@corp.example', email_verified: true, name: 'Ada Lovelace' };

  it('registers a new person as an operator, and answers like a login', async () => {
    const { world, provider, tenant } = scene();
    const page = await signIn(world, provider, tenant, ada);
    expect(page.status).to.equal(200);
    const { token, user } = login.parse(page.json);
    expect(user).to.deep.equal({
      id: user.id,
      email: ada.email,
      display_name: ada.name,
      role: 'operator',
      tenant_id: tenant.id,
    });
    const list = (await world.anybody.with(token).get(USERS)).as(users);
    expect(list.find(({ id }) => id === user.id)).to.include({ role: 'operator', status: 'active' });
  });

  it('recognises a returning person, also with another e-mail and name', async () => {
    const { world, provider, tenant } = scene();
    const first = login.parse((await signIn(world, provider, tenant, ada)).json);
    const moved = { ...ada, email: 'other@corp.example', name: 'Other' };
    const again = login.parse((await signIn(world, provider, tenant, moved)).json);
    expect(again.user).to.deep.equal(first.user);
    const list = (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
    expect(list.filter(({ email }) => email.endsWith('@corp.example'))).to.have.length(1);
  });

  it('sends the browser to an allowed return_to, with the token in the fragment', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const callback = await sentBack(world, provider, tenant, ada, browser, `${APP}/deep?x=1&y=ä`);
    const page = await browser.visit(callback);
    expect(page.status).to.equal(302);
    expect(page.text).to.equal('');
    const to = new URL(page.location ?? '');
    expect(to.href.split('#')[0]).to.equal(`${APP}/deep?x=1&y=%C3%A4`);
    const told = new URLSearchParams(to.hash.slice(1));
    expect([...told.keys()]).to.deep.equal(['token', 'token_type', 'expires_in']);
    expect(told.get('token_type')).to.equal('Bearer');
    expect(told.get('expires_in')).to.equal('86400');
    const token = told.get('token') ?? '';
    expect((await world.anybody.with(token).get('/api/v1/tenant/me')).status).to.equal(200);
  });

  it('sends state, nonce, PKCE and scopes to the provider', async () => {
    const { world, provider, tenant } = scene();
    for (const prefix of ['', '/api/v1']) {
      const path = `${prefix}/auth/sso/${tenant.id}/start`;
      const page = await newBrowser(world).visit(world.server.base + path);
      expect(page.status).to.equal(302);
      const { origin, searchParams } = new URL(page.location ?? '');
      expect(origin).to.equal(provider.issuer);
      const asked = Object.fromEntries(searchParams);
      expect(asked).to.deep.include({
        response_type: 'code',
        client_id: 'the-platform',
        redirect_uri: callbackOf(world),
        scope: 'openid email profile',
        code_challenge_method: 'S256',
      });
      for (const name of ['state', 'nonce', 'code_challenge']) {
        expect(asked[name], name).to.match(/^[A-Za-z0-9_-]{43}$/);
      }
    }
  });

  it('is refused by the provider without the PKCE challenge', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    provider.next = ada;
    const begun = await browser.visit(startOf(world, tenant));
    const asked = new URL(begun.location ?? '');
    asked.searchParams.delete('code_challenge');
    asked.searchParams.delete('code_challenge_method');
    const page = await browser.follow(asked.href);
    expect(page.url).to.contain('error=invalid_request');
    expect(page.status).to.equal(401);
  });

  it('keeps the sign-in in an encrypted cookie for the callback only, and removes it', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const begun = await browser.visit(startOf(world, tenant, `${APP}/x`));
    const set = begun.headers.getSetCookie();
    expect(set).to.have.length(1);
    expect(set[0]).to.match(
      /^sso_[0-9a-f]{24}=[A-Za-z0-9_-]+; Max-Age=600; Path=\/auth\/sso\/callback; HttpOnly; SameSite=Lax$/,
    );
    const kept = set[0]?.split(';')[0] ?? '';
    const state = new URL(begun.location ?? '').searchParams.get('state') ?? '';
    expect(kept).not.to.contain(state);
    const text = Buffer.from(kept.split('=')[1] ?? '', 'base64url').toString('latin1');
    for (const secret of [tenant.id, APP, 'nonce']) expect(text).not.to.contain(secret);

    provider.next = ada;
    const page = await browser.follow(begun.location ?? '', (url) => url.startsWith(APP));
    expect(page.headers.getSetCookie()).to.deep.equal([
      `${kept.split('=')[0]}=; Max-Age=0; Path=/auth/sso/callback; HttpOnly; SameSite=Lax`,
    ]);
    expect(browser.cookies.filter(({ name }) => name.startsWith('sso_'))).to.deep.equal([]);
    for (const answer of [begun, page]) {
      expect(answer.headers.get('cache-control')).to.equal('no-store');
      expect(answer.headers.get('referrer-policy')).to.equal('no-referrer');
    }
  });

  it('allows two tabs to sign in at once', async () => {
    const { world, provider, tenant } = scene();
    const browser = newBrowser(world);
    const first = await sentBack(world, provider, tenant, ada, browser);
    const second = await sentBack(world, provider, tenant, ada, browser);
    expect((await browser.visit(second)).status).to.equal(200);
    expect((await browser.visit(first)).status).to.equal(200);
  });

  it('registers one user for concurrent sign-ins of one person', async () => {
    const { world, provider, tenant } = scene();
    const bob = { sub: 'bob', email: 'bob@corp.example', email_verified: true, name: 'Bob' };
    const callbacks = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const browser = newBrowser(world);
        return { browser, url: await sentBack(world, provider, tenant, bob, browser) };
      }),
    );
    const pages = await Promise.all(callbacks.map(({ browser, url }) => browser.visit(url)));
    const ids = new Set(pages.map((page) => login.parse(page.json).user.id));
    expect(ids.size).to.equal(1);
    const list = (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users);
    expect(list.filter(({ email }) => email === bob.email)).to.have.length(1);
  });

  it('supports providers that need the secret in the form, or put all claims into the ID token', async () => {
    const { world } = scene();
    for (const options of [{ authentication: 'client_secret_post' as const }, { fullTokens: true }]) {
      const other = await startProvider({ redirectUri: callbackOf(world), ...options });
      const page = await signIn(world, other, await tenantAt(world, other), ada);
      expect(login.parse(page.json).user).to.include({ email: ada.email, display_name: ada.name });
    }
  });

  it('uses a changed configuration at once, and ends earlier sign-ins', async () => {
    const { world, provider } = scene();
    const moving = await tenantAt(world, provider);
    const browser = newBrowser(world);
    const barred = await sentBack(world, provider, moving, ada, browser, `${APP}/not-for-long`);
    await configure(world, moving, { ...settings(provider), return_origins: [] });
    expect((await browser.visit(barred)).status).to.equal(401);
    const callback = await sentBack(world, provider, moving, ada, browser);
    const other = await startProvider({ redirectUri: callbackOf(world) });
    await configure(world, moving, settings(other));
    expect((await browser.visit(callback)).status).to.equal(401);
    const begun = await browser.visit(startOf(world, moving));
    expect(new URL(begun.location ?? '').origin).to.equal(other.issuer);
    await configure(world, moving, null);
    expect((await browser.visit(startOf(world, moving))).status).to.equal(404);
  });

  it('logs no secret at any level', async () => {
    const { world, provider, tenant } = scene();
    const before = world.server.output().length;
    const browser = newBrowser(world);
    const secrets = [settings(provider).client_secret];
    // A provider of this test only, since it is stopped.
    const fresh = await startProvider({ redirectUri: callbackOf(world) });
    await configure(world, tenant, settings(fresh));
    const callback = await sentBack(world, fresh, tenant, ada, browser);
    const { searchParams } = new URL(callback);
    for (const name of ['code', 'state']) secrets.push(searchParams.get(name) ?? 'nothing');
    for (const { value } of browser.cookies) secrets.push(value);
    const { token } = login.parse((await browser.visit(callback)).json);
    secrets.push(token);
    // A used callback with these secrets in its address is refused. A new one fails, since the provider has stopped.
    expect((await browser.visit(callback)).status).to.equal(401);
    const lost = newBrowser(world);
    const unanswered = await sentBack(world, fresh, tenant, ada, lost);
    for (const name of ['code', 'state']) {
      secrets.push(new URL(unanswered).searchParams.get(name) ?? 'nothing');
    }
    await fresh.stop();
    expect((await lost.visit(unanswered)).status).to.equal(503);
    const output = await eventually('the last lines of the log', () => {
      const written = world.server.output().slice(before);
      return written.includes('a single sign-on failed') && written;
    });
    expect(output).to.contain('/auth/sso/callback');
    for (const secret of secrets) {
      expect(secret.length).to.be.greaterThan(20);
      expect(output, secret).not.to.contain(secret);
    }
    expect(output).not.to.match(/id_token|eyJ[A-Za-z0-9_-]{10,}\./);
  });
});
