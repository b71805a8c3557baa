import { globSync, readFileSync, statSync } from 'node:fs';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { buildConsole, flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo } from '../../support/console-suite.ts';
import { eventually, ROOT } from '../../support/server.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import type { TestTenant } from '../../support/world.ts';

const PASSWORD = 'a-long-password-1';

/** Bytes that a first visit loads: the page, its compressed scripts and styles, and the font of Latin texts. */
const firstLoad = (): number => {
  const page = readFileSync('console/dist/index.html', 'utf8');
  const named = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map(([, file = '']) => file);
  const statics = named.flatMap((file) => [file, ...(file.endsWith('.js') ? importsOf(file) : [])]);
  const font = globSync('assets/inter-latin-wght-normal-*.woff2', { cwd: 'console/dist' });
  const sizes = [...new Set(statics)].map((file) => statSync(`console/dist/${file}.gz`).size);
  return [...sizes, ...font.map((file) => statSync(`console/dist/${file}`).size)].reduce((a, b) => a + b, 0);
};

const scriptsOf = z.array(z.string());

const importsOf = (file: string): string[] => {
  const code = readFileSync(`console/dist/${file}`, 'utf8');
  const found = [...code.matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)].map(
    ([, name]) => `assets/${name}`,
  );
  return [...found, ...found.flatMap(importsOf)];
};

describe('The shell of the Console', () => {
  let tenant: TestTenant;
  const email = () => `pia@${tenant.id.replace('_', '-')}.example`;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
    await tenant.admin.api.post('/api/v1/tenant/users', {
      email: email(),
      display_name: 'Pia',
      role: 'operator',
      password: PASSWORD,
    });
  });

  const signIn = async (page: Page, as: string, password: string): Promise<void> => {
    await page.getByLabel('E-mail').fill(as);
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  it('loads less than 250 KB at first', async () => {
    await buildConsole();
    expect(firstLoad()).to.be.greaterThan(100_000).and.lessThan(250_000);
  });

  it('loads only the first scripts before the overview is shown, and compiles them as they arrive', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await page.getByText('Log signed').waitFor();
    const loaded = await page.evaluate(
      "performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname).filter((path) => path.endsWith('.js'))",
    );
    const named = readFileSync('console/dist/index.html', 'utf8').matchAll(
      /"(\/console\/assets\/[^"]+\.js)"/g,
    );
    const scripts = [...new Set([...named].map(([, path = '']) => path))].sort();
    expect([...new Set(scriptsOf.parse(loaded))].sort()).to.deep.equal(scripts);
    const large = scripts
      .map((path) => readFileSync(path.replace('/console', 'console/dist'), 'utf8'))
      .filter((code) => code.length > 10_000);
    expect(large.map((code) => code.split('\n')[0])).to.deep.equal(
      Array.from({ length: 2 }, () => '//# allFunctionsCalledOnLoad'),
    );
  }).timeout(60_000);

  it('signs in by password, explains a refusal, and shows only the pages of the role', async () => {
    const page = await site.browser.open();
    expect(await flawsOf(page)).to.deep.equal([]);
    await signIn(page, email(), 'a-wrong-password');
    await page.getByRole('alert').getByText('invalid_credential').waitFor();
    await signIn(page, email(), PASSWORD);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Users' }).count()).to.equal(0);
    await page.goto(`${site.world.server.base}/console/users`);
    // A reload asks again, since the tokens were in memory only.
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, email(), PASSWORD);
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
  }).timeout(60_000);

  it('closes error messages when their page is left; they never cover the last controls of a page', async () => {
    const off = await tenant.person('Otto Off');
    await tenant.admin.api.patch(`/api/v1/tenant/users/${off.id}`, { status: 'deactivated' });
    const viewport = { width: 1000, height: 360 };
    const page = await site.browser.openAs(tenant.admin.token, '/users', { viewport });
    site.browser.expect(/status of 500/);
    const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
    await page.route(
      (url) => url.pathname.endsWith(off.id),
      (route) => route.fulfill({ status: 500, json: broken }),
    );
    await page.getByRole('row').filter({ hasText: 'Otto Off' }).getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Activate' }).click();
    const message = page.getByRole('list', { name: 'Messages' }).getByText('Something failed.');
    await message.waitFor();
    const last = await page.evaluate(
      "scrollTo(0, 1e6), document.querySelector('.content > :last-child').getBoundingClientRect().bottom",
    );
    const covered = await page.locator('.toasts').boundingBox();
    expect(last)
      .to.be.greaterThan(0)
      .and.lessThan(covered?.y ?? 0);
    await page.getByRole('link', { name: 'Records' }).first().click();
    await message.waitFor({ state: 'detached' });
    await page.context().close();
  }).timeout(60_000);

  it('keeps what was typed when a session ends, and sends it after a new sign-in', async () => {
    const mail = (name: string): string => `${name}@${tenant.id.replace('_', '-')}.example`;
    const ends = { email: mail('ends'), display_name: 'Ends', role: 'admin', password: PASSWORD };
    await tenant.admin.api.post('/api/v1/tenant/users', ends);
    const page = await site.browser.open('/users');
    // Replaces the socket, since the server would announce the end of the session before the form is sent.
    await page.routeWebSocket('**/api/v1/ws*', () => {});
    await page.reload();
    await signIn(page, ends.email, PASSWORD);
    await page.getByRole('button', { name: 'Add a person' }).click();
    const signedIn = now();
    await page.getByLabel('Name').fill('Zoe Typed');
    await page.getByLabel('E-mail').fill(mail('zoe'));
    // A new password ends all earlier sessions.
    const login = await site.world.anybody.post('/auth/login', { email: ends.email, password: PASSWORD });
    const other = site.world.anybody.with(login.as(z.object({ token: z.string() })).token);
    const changed = { current_password: PASSWORD, new_password: 'another-password-1' };
    // Tokens that were issued in the same second as a change of the password stay valid.
    await eventually('a later second', () => now() > signedIn);
    expect((await other.post('/api/v1/tenant/me/password', changed)).status).to.be.lessThan(300);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('textbox', { name: 'Password' }).fill('another-password-1');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Zoe Typed was added.').waitFor();
    await page.getByRole('gridcell', { name: 'Zoe Typed', exact: true }).waitFor();
  }).timeout(60_000);

  it('asks for a new sign-in when the token expires', async () => {
    site.browser.expect(/WebSocket connection/);
    const token = tenantToken(tenant.admin, { exp: now() + 4 });
    const page = await site.browser.openAs(token, '/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('button', { name: 'Sign in at the identity provider' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    for (const key of ['Escape', 'Escape', 'Escape']) await page.keyboard.press(key);
    await page.getByText('Nothing on the page is lost.').click();
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  }).timeout(60_000);

  it('lets a platform admin act in a tenant, with a banner, and leave it', async () => {
    const page = await site.browser.open();
    await page.getByRole('tab', { name: 'Platform' }).click();
    await signIn(page, ROOT.email, ROOT.password);
    await page.getByRole('button', { name: 'Open a tenant' }).click();
    await page.getByRole('gridcell', { name: tenant.id, exact: true }).click();
    const dialog = page.getByRole('dialog', { name: `Act in ${tenant.id}` });
    await dialog.getByLabel('Reason').fill('A question of Pia');
    // The answer to a repeated request does not contain the token.
    const replayed = { token_type: 'Bearer', expires_in: 3600 };
    await page.route('**/super/impersonate/*', (route) => route.fulfill({ json: replayed }));
    await dialog.getByRole('button', { name: 'Open the tenant' }).click();
    await dialog.getByRole('alert').getByText('Try again').waitFor();
    await page.unroute('**/super/impersonate/*');
    await dialog.getByRole('button', { name: 'Open the tenant' }).click();
    await page.getByRole('complementary', { name: 'Impersonation' }).waitFor();
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('gridcell', { name: 'Pia', exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Leave the tenant' }).click();
    await page.getByRole('complementary', { name: 'Impersonation' }).waitFor({ state: 'detached' });
  }).timeout(60_000);

  it('can be used by keyboard: skip link, shortcuts, rows of a table', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    const grid = page.getByRole('grid', { name: 'Users' });
    await grid.getByRole('row').nth(1).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.keyboard.press('Escape');
    await goTo(page, '/notifications');
    await page.getByRole('search').waitFor();
    await page.keyboard.press('/');
    expect(await page.evaluate("document.activeElement?.closest('search') !== null")).to.equal(true);
  }).timeout(60_000);

  it('loads the script of a page again after a failure', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    site.browser.expect(/net::ERR_FAILED|dynamically imported module/);
    await page.route('**/assets/users-*.js', (route) => route.abort());
    await page.getByRole('link', { name: 'Users' }).click();
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute('**/assets/users-*.js');
    await again.click();
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('explains a sign-in that failed until somebody has signed in', async () => {
    const page = await site.browser.open('/signed-in#token=none');
    await page.getByRole('alert').getByText('The sign-in was not completed. Try again.').waitFor();
    await signIn(page, email(), PASSWORD);
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
    await page.context().close();
  }).timeout(60_000);

  it('keeps the chosen theme', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).to.equal('dark');
    await page.reload();
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).to.equal('dark');
  }).timeout(60_000);
});
