import { expect } from 'chai';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, XSS } from '../../support/console-suite.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import type { TestTenant } from '../../support/world.ts';
import { addRecord, OPEN, ofStatus, paidTenant, plainEntity, subscribe } from '../webhooks/support.ts';

describe('The webhook pages', () => {
  let tenant: TestTenant;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await paidTenant(world);
      await plainEntity(tenant, 'crate');
    },
    { env: OPEN, end: closeReceivers },
  );

  it('say why a delivery failed, and send it once more', async () => {
    const receiver = await startReceiver(() => 500);
    const hook = await subscribe(tenant.admin, receiver.url, { description: XSS });
    await addRecord(tenant.admin, 'crate', XSS);
    await ofStatus(tenant.admin, hook.id, 'dead', 1);
    const page = await site.visit(tenant.admin.token, '/webhooks');
    await page.getByText('Failing').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: receiver.url }).click();
    await page.getByRole('heading', { level: 1, name: receiver.url }).waitFor();
    await page.getByLabel('Status').selectOption('dead');
    await page.getByRole('gridcell', { name: '500' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'entity.created' }).click();
    await page.getByText(/^It was given up after 5 attempts/).waitFor();
    expect(
      await page.getByRole('table').getByRole('cell', { name: 'HTTP 500', exact: true }).count(),
    ).to.equal(5);
    await page.getByText(JSON.stringify(XSS)).first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    receiver.behave(() => 204);
    await page.getByRole('button', { name: 'Resend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await page.getByText(/^The receiver accepted it/).waitFor();
  }).timeout(60_000);

  it('subscribe with the secret shown once, test, rotate, pause and delete', async () => {
    const receiver = await startReceiver();
    const page = await site.visit(tenant.admin.token, '/webhooks');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New subscription' }).click();
    await dialog.getByLabel('URL').fill('https://10.0.0.1/internal');
    await dialog.getByLabel('All events').check();
    site.browser.expect(/status of 4(?:00|22)/);
    await dialog.getByRole('button', { name: 'Subscribe' }).click();
    await dialog.getByRole('alert').first().waitFor();
    await dialog.getByLabel('URL').fill(receiver.url);
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Subscribe' }).click();
    await dialog.getByText(/^whsec_/).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { level: 1, name: receiver.url }).waitFor();
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByRole('gridcell', { name: 'Delivered' }).waitFor();
    await page.getByRole('button', { name: 'Rotate secret' }).click();
    // No duration, since WEBHOOK_SECRET_GRACE_HOURS sets it and no answer of the API tells it.
    expect(await dialog.textContent()).not.to.match(/\d+ hours/);
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    await dialog.getByText(/^whsec_/).waitFor();
    expect(await dialog.textContent()).not.to.match(/\d+ hours/);
    await page
      .getByRole('dialog', { name: 'The new signing secret' })
      .getByRole('button', { name: 'Close' })
      .click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete subscription' }).click();
    await page.getByRole('heading', { level: 1, name: 'Webhooks' }).waitFor();
    await page.getByRole('link', { name: receiver.url }).waitFor({ state: 'detached' });
  }).timeout(60_000);
});
