import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { consoleSuite } from '../../support/console-suite.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import type { TestTenant } from '../../support/world.ts';
import { move, posted, withBooks } from '../ledger/support.ts';
import { addRecord, OPEN, ofStatus, plainEntity, subscribe } from '../webhooks/support.ts';
import { ENTITIES } from '../workflow/support.ts';

describe('A newcomer with a mouse alone', () => {
  let tenant: TestTenant;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await withBooks(world);
      await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'enterprise' });
      await plainEntity(tenant, 'crate');
    },
    { env: OPEN, end: closeReceivers },
  );

  /** Begins at the overview, and then uses the pointer only. */
  const start = async (): Promise<{ page: Page; go: (to: string) => Promise<void> }> => {
    const page = await site.visit(tenant.admin.token, '/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const nav = page.getByRole('navigation', { name: 'Pages' });
    return { page, go: (to) => nav.getByRole('link', { name: to, exact: true }).click() };
  };
  const gridRow = (page: Page, text: string | RegExp): Locator =>
    page.getByRole('row').filter({ hasText: text }).first();

  it('finds why a webhook failed', async () => {
    const receiver = await startReceiver(() => 503);
    const hook = await subscribe(tenant.admin, receiver.url);
    await addRecord(tenant.admin, 'crate', 'One');
    await ofStatus(tenant.admin, hook.id, 'dead', 1);
    const { page, go } = await start();
    await go('Webhooks');
    await gridRow(page, 'Failing').click();
    await gridRow(page, 'Dead letter').click();
    await page.getByText('It was given up after 5 attempts: HTTP 503.').waitFor();
    expect(await page.getByRole('cell', { name: 'HTTP 503' }).count()).to.be.at.least(5);
  }).timeout(60_000);

  it('finds the state of a record before a change, and yesterday', async () => {
    const id = await addRecord(tenant.admin, 'crate', 'The old title');
    const change = { values: { title: 'The new title' } };
    expect((await tenant.admin.api.patch(`${ENTITIES}/crate/records/${id}`, change)).status).to.equal(200);
    const { page, go } = await start();
    await go('Records');
    await gridRow(page, 'crate').click();
    await gridRow(page, 'The new title').click();
    await page.getByRole('heading', { level: 1, name: 'The new title' }).waitFor();
    await page.getByRole('link', { name: 'Time travel' }).last().click();
    const differences = page.getByRole('region', { name: 'Differences' });
    await differences.getByText('The old title').waitFor();
    await differences.getByText('The new title').waitFor();
    await page.getByRole('button', { name: 'The event before' }).click();
    await page.getByRole('tab', { name: 'Whole state' }).click();
    await page.getByText('"The old title"').first().waitFor();
    await page.getByRole('button', { name: 'Yesterday' }).click();
    await page.getByText('At that moment it did not exist yet.').waitFor();
  }).timeout(60_000);

  it('begins a bulk operation from the records that a filter shows', async () => {
    const page = await site.visit(tenant.admin.token, '/records/crate?filter=title+%3D%3D+%22One%22');
    await page.getByRole('link', { name: 'Change these' }).click();
    expect(await page.getByRole('combobox', { name: 'Filter' }).inputValue()).to.equal('title == "One"');
    await page.getByLabel('Delete').check();
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Delete crate' }).waitFor();
    // A record of the preview is a link to its page.
    await page.getByRole('region', { name: 'What changes' }).getByRole('link').first().click();
    await page.getByRole('heading', { level: 1, name: 'One' }).waitFor();
  }).timeout(60_000);

  it('finds which entries make up a figure, and which events made an entry', async () => {
    for (const amount of [1200, 345]) {
      await posted(tenant.admin.api, { memo: `Sale of ${amount}`, lines: move('1000', '4000', amount) });
    }
    const { page, go } = await start();
    await go('Ledger');
    await page.getByRole('row', { name: /^4000/ }).getByRole('link', { name: '€15.45' }).first().click();
    await gridRow(page, 'Sale of 1200').waitFor();
    await gridRow(page, 'Sale of 345').getByRole('link').first().click();
    await page.getByRole('link', { name: 'What happened to this entry' }).click();
    await page.getByText('EntryDrafted').first().waitFor();
  }).timeout(60_000);
});
