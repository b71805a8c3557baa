import { expect } from 'chai';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo, signInPlatform } from '../../support/console-suite.ts';
import { randomName } from '../../support/server.ts';

const MANY = 100_000;

describe('The platform’s pages of the Console', () => {
  const site = consoleSuite();

  it('adds a tenant, changes its entitlements, and suspends it after its id was typed', async () => {
    const id = randomName('t');
    const page = await site.visitPlatform('/platform/tenants');
    await page.getByRole('button', { name: 'Add a tenant' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill(`Tenant ${id}`);
    await dialog.getByLabel('Id', { exact: true }).fill('Not An Id');
    await dialog.getByLabel('Name of the first admin').fill('First');
    await dialog.getByLabel('E-mail of the first admin').fill('first@tenant.example');
    await dialog.getByLabel('Password of the first admin').fill('a-long-password-1');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.locator('[name=id][aria-invalid=true]').waitFor();
    await dialog.getByLabel('Id', { exact: true }).fill(id);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('link', { name: `Tenant ${id}` }).click();
    await page.getByRole('heading', { level: 1, name: `Tenant ${id}` }).waitFor();
    await page.getByRole('checkbox', { name: 'Ledger' }).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The tenant was changed.').waitFor();
    const read = async () => (await site.world.platform.get(`/super/tenants/${id}`)).json;
    expect(await read()).to.have.nested.property('entitlements.ledger', true);
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(id);
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('suspended', { exact: true }).waitFor();
    expect(await read()).to.have.property('status', 'suspended');
  }).timeout(60_000);

  it('shows a tenant that is added after another tenant was left', async () => {
    const [other, id] = [await site.world.tenant(), randomName('t')];
    const page = await site.openPlatform('/platform/tenants');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Open a tenant' }).click();
    await dialog.getByRole('gridcell', { name: other.id, exact: true }).click();
    await dialog.getByRole('button', { name: 'Open the tenant' }).click();
    await page.getByRole('complementary', { name: 'Impersonation' }).waitFor();
    await goTo(page, '/platform/tenants');
    await page.getByRole('gridcell', { name: other.id, exact: true }).waitFor();
    await page.getByRole('button', { name: 'Leave the tenant' }).click();
    await page.getByRole('complementary', { name: 'Impersonation' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add a tenant' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill(`Tenant ${id}`);
    await dialog.getByLabel('Id', { exact: true }).fill(id);
    await dialog.getByLabel('Name of the first admin').fill('First');
    await dialog.getByLabel('E-mail of the first admin').fill('first@tenant.example');
    await dialog.getByLabel('Password of the first admin').fill('a-long-password-1');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('link', { name: `Tenant ${id}` }).waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('saves no former plan of a tenant whose plan was changed elsewhere', async () => {
    const id = randomName('t');
    expect((await site.world.platform.post('/super/tenants', { id, name: 'Grows' })).status).to.equal(201);
    const page = await site.visitPlatform(`/platform/tenants/${id}`);
    await page.getByRole('combobox', { name: 'Plan' }).waitFor();
    const path = `/super/tenants/${id}`;
    expect((await site.world.platform.patch(path, { plan: 'business' })).status).to.equal(200);
    const save = page.getByRole('button', { name: 'Save' });
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    // The answer to this change shows the present tenant.
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(id);
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('suspended', { exact: true }).waitFor();
    await name.fill('Has grown');
    await Promise.all([
      page.waitForResponse((answer) => answer.request().method() === 'PATCH'),
      save.click(),
    ]);
    expect((await site.world.platform.get(path)).json).to.include({ name: 'Has grown', plan: 'business' });
  }).timeout(60_000);

  it('adds a partner, says why an id is refused, and changes the partner’s name', async () => {
    const id = randomName('p');
    const page = await site.visitPlatform('/platform/partners');
    await page.getByRole('button', { name: 'Add a partner' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(`<b>Partner</b> ${id}`);
    await dialog.getByLabel('Id', { exact: true }).fill('Not An Id');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.locator('[name=id][aria-invalid=true]').waitFor();
    await dialog.getByLabel('Id', { exact: true }).fill(id);
    await dialog.getByRole('button', { name: 'Add' }).click();
    await page.getByRole('button', { name: `Change <b>Partner</b> ${id}` }).click();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByLabel('Name').fill(`Renamed ${id}`);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('gridcell', { name: `Renamed ${id}`, exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('shows projections with their lag, and rebuilds one', async () => {
    const page = await site.visitPlatform('/platform/projections');
    await page.getByRole('button', { name: 'Rebuild notifications' }).click();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Rebuild' }).click();
    await page.getByText(/notifications is being rebuilt as/).waitFor();
    const subscribers = page.getByRole('grid', { name: 'Subscribers' });
    await subscribers.getByText('mention-notifier').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('retries a tenant that is parked at an event', async () => {
    const page = await site.browser.open('/platform/projections');
    const parked = {
      tenant: 'stopped',
      event_id: 'e1',
      error: 'no such field',
      since: '2026-01-01T00:00:00.000Z',
      attempts: 3,
    };
    await page.route('**/super/projections', (route) =>
      route.fulfill({
        json: [{ name: 'records', generation: 'v2', state: 'active', checkpoint: '0', parked: [parked] }],
      }),
    );
    const tried: unknown[] = [];
    await page.route('**/super/projections/records/retry', (route) => {
      tried.push(route.request().postDataJSON());
      return route.fulfill({ status: 202, json: { projection: 'records', tenant: 'stopped' } });
    });
    await signInPlatform(page);
    await page.getByRole('alert').getByText('no such field').waitFor();
    await page.getByRole('alert').getByRole('button', { name: 'Try again' }).click();
    await page.getByText('stopped is resumed.').waitFor();
    expect(tried).to.deep.equal([{ tenant: 'stopped' }]);
  }).timeout(60_000);

  it('shows the platform at a glance', async () => {
    const page = await site.visitPlatform('/platform/overview');
    await page.getByText('Lag of projections').waitFor();
    await page.getByRole('img', { name: /^Events appended per second/ }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('keeps only the rows in view of a table of 100,000 in the document', async () => {
    const page = await site.browser.open('/platform/projections');
    const rows = Array.from({ length: MANY }, (_, nth) => ({
      name: `model ${nth}`,
      generation: 'v1',
      state: 'active',
      checkpoint: '0',
      parked: [],
    }));
    await page.route('**/super/projections', (route) => route.fulfill({ json: rows }));
    await signInPlatform(page);
    const grid = page.getByRole('grid', { name: 'Read models' });
    await grid.getByRole('row').nth(1).focus();
    await page.keyboard.press('End');
    await grid.getByText(`model ${MANY - 1}`, { exact: true }).waitFor();
    expect(
      z.number().parse(await page.evaluate('document.querySelectorAll("[role=row]").length')),
    ).to.be.lessThan(120);
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Home');
    await grid.getByText('model 0', { exact: true }).waitFor();
  }).timeout(60_000);
});
