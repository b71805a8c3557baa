import { expect } from 'chai';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite } from '../../support/console-suite.ts';
import type { TestTenant } from '../../support/world.ts';

/** Markup that is typed into text fields, and must be shown as text. */
const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}';

describe('Administration in the Console', () => {
  let tenant: TestTenant;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
  });

  it('adds a person, shows errors at their fields, deactivates and forgets', async () => {
    const page = await site.visit(tenant.admin.token, '/users');
    const mail = `eve@${tenant.id.replace('_', '-')}.example`;
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByLabel('E-mail').fill(mail);
    await page.getByLabel('Password').fill('short');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('[name=password][aria-invalid=true]').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Password').fill('a-long-password-1');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('gridcell', { name: MARKUP, exact: true }).waitFor();
    expect(await page.locator('img[src=x]').count()).to.equal(0);
    expect(await flawsOf(page)).to.deep.equal([]);

    const row = page.getByRole('row').filter({ hasText: mail });
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Deactivate' }).click();
    await page.getByText('Sessions end at once').waitFor();
    await page.getByRole('button', { name: 'Deactivate' }).click();
    await row.getByText('deactivated').waitFor();
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Erase permanently' }).click();
    const forget = page.getByRole('dialog').getByRole('button', { name: 'Erase permanently' });
    expect(await forget.isDisabled()).to.equal(true);
    await page.getByRole('dialog').getByRole('textbox').fill(mail);
    await forget.click();
    await page.getByText('The person was erased.').waitFor();
  }).timeout(60_000);

  it('tells of a failure also when its dialogue was closed meanwhile', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/users');
    site.browser.expect(/status of 500/);
    const waits = Promise.withResolvers<void>();
    const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
    await page.getByRole('button', { name: 'Add a person' }).click();
    await page.getByLabel('Name').fill('Late');
    await page.getByLabel('E-mail').fill('late@late.example');
    await page.route('**/api/v1/tenant/users', async (route) => {
      await waits.promise;
      await route.fulfill({ status: 500, json: broken });
    });
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('Working…').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    waits.resolve();
    await page.getByRole('list', { name: 'Messages' }).getByText('Something failed.').waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('makes an API token, shows its secret once, and revokes it', async () => {
    const page = await site.visit(tenant.admin.token, '/api-tokens');
    await page.getByText('No tokens yet').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Make a token' }).click();
    await page.getByLabel('Name').fill('nightly export');
    await page.getByRole('button', { name: 'Make the token' }).click();
    // No scope was chosen.
    await page.getByText('At least one scope is needed.').waitFor();
    await page.getByRole('checkbox', { name: 'data:read' }).check();
    await page.getByRole('button', { name: 'Make the token' }).click();
    const secret = await page.locator('.secret code').textContent();
    expect(secret).to.match(/^svc_pat_\w{51}$/);
    expect(await flawsOf(page)).to.deep.equal([]);
    const program = site.world.anybody.with(secret ?? '');
    expect((await program.get('/api/v1/tenant/entities')).status).to.equal(200);
    await page.getByRole('button', { name: 'I have copied it' }).click();
    expect(await page.content()).not.to.contain(secret);
    await page
      .getByRole('row')
      .filter({ hasText: 'nightly export' })
      .getByText(/^in \d/)
      .waitFor();
    await page.getByRole('button', { name: 'Revoke nightly export' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke the token' }).click();
    await page.getByText('revoked', { exact: true }).waitFor();
    expect((await program.get('/api/v1/tenant/entities')).status).to.equal(401);
  }).timeout(60_000);

  it('installs an extension, switches it on, and uninstalls it', async () => {
    const page = await site.visit(tenant.admin.token, '/extensions');
    await page.getByRole('button', { name: 'Install' }).click();
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByLabel('Id', { exact: true }).fill('acme.labels');
    await page.getByLabel('Version').fill('1.0.0');
    await page.getByRole('checkbox', { name: 'data:read' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Install' }).click();
    const row = page.getByRole('row').filter({ hasText: 'acme.labels' });
    await row.getByText('inactive').waitFor();
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Activate' }).click();
    await row.getByText('active', { exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await row.getByRole('button').click();
    await page.getByRole('menuitem', { name: 'Uninstall' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uninstall' }).click();
    await page.getByText('No extensions yet').waitFor();
  }).timeout(60_000);
});
