import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, XSS } from '../../support/console-suite.ts';
import { eventually } from '../../support/server.ts';
import { type Member, NOTIFICATIONS, type TestTenant } from '../../support/world.ts';
import { defineEntity, ENTITIES, JOBS, jobDetail, startJob } from '../workflow/support.ts';

describe('The page of a record', () => {
  let tenant: TestTenant;
  let ben: Member;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
    ben = await tenant.person('Ben');
    await defineEntity(tenant, 'expense');
  });

  const job = async (id: string) => (await tenant.admin.api.get(`${JOBS}/${id}`)).as(jobDetail);
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

  it('draws the job, explains a refused guard, moves, and overrides with a reason', async () => {
    const id = await startJob(ben, 'expense', { title: XSS, amount: 4000 });
    const page = await site.visit(tenant.admin.token, `/records/expense/${id}`);
    await page.getByRole('heading', { level: 1, name: XSS }).waitFor();
    await page.getByRole('img', { name: /with 4 states. The job is in Draft/ }).waitFor();
    await press(page, 'submit');
    await page.getByRole('img', { name: /The job is in Submitted/ }).waitFor();
    await page.getByText('guard: Small enough').waitFor();
    await press(page, 'approve');
    const refusal = page.getByRole('alert').filter({ hasText: 'Small enough' });
    await refusal.getByText('record.amount < 1000').waitFor();
    await refusal.getByText('Amount is 4,000').waitFor();
    await page.getByText('Transitions in words').click();
    expect(await flawsOf(page)).to.deep.equal([]);
    expect((await job(id)).state).to.equal('submitted');

    await press(page, 'Override the state');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('To').selectOption('approved');
    await dialog.getByLabel('Reason').fill(XSS);
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Override' }).click();
    await page.getByRole('img', { name: /The job is in Approved/ }).waitFor();
    await press(page, 'pay');
    await dialog.getByLabel('Payload').fill('{"receipt": 7}');
    await dialog.getByRole('button', { name: 'pay' }).click();
    await page.getByText('No transition leads out of Paid.').waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('cell', { name: XSS }).waitFor();
    expect(await page.getByRole('row').count()).to.equal(4);
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'Time travel' }).last().click();
    await page.getByRole('heading', { level: 1, name: 'record' }).waitFor();
    await page.getByRole('link', { name: /^Open record/ }).click();
    await page.getByRole('heading', { level: 1, name: XSS }).waitFor();
  }).timeout(60_000);

  it('tells an operator what a transition needs, and offers no override', async () => {
    const id = await startJob(ben, 'expense', { amount: 1 });
    const page = await site.browser.openAs(ben.token, `/records/expense/${id}`);
    await page.getByText('needs Title').waitFor();
    await press(page, 'submit');
    await page.getByRole('alert').filter({ hasText: 'constraint_violated' }).waitFor();
    expect(await page.getByRole('button', { name: 'Override the state' }).count()).to.equal(0);
    await tenant.admin.api.patch(`${ENTITIES}/expense/records/${id}`, { values: { title: 'Taxi' } });
    await press(page, 'submit');
    await page.getByText('only for admin').waitFor();
  }).timeout(60_000);

  it('takes notes with mentions, and files, and makes a public link', async () => {
    const id = await startJob(ben, 'expense', { title: 'Hotel', amount: 90 });
    const page = await site.visit(tenant.admin.token, `/records/expense/${id}`);
    const note = page.getByRole('textbox', { name: 'New note' });
    await note.pressSequentially('@be');
    await page.getByRole('option', { name: /^Ben/ }).waitFor();
    await note.press('Enter');
    await note.pressSequentially(`see ${XSS}`);
    await note.press('Enter');
    await page.getByText(`@Ben see ${XSS}`).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await eventually('the mention', async () => {
      const { json } = await ben.api.get(NOTIFICATIONS);
      return Array.isArray(json) && json.some(({ kind }) => kind === 'note_mention');
    });

    await page.getByRole('tab', { name: 'Files' }).click();
    const content = Buffer.from('receipt of the hotel');
    const file = { name: '<img src=x onerror=alert(1)>.txt', mimeType: 'text/plain', buffer: content };
    await page.getByLabel('Add a file').setInputFiles(file);
    await page.getByText(file.name).first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Save / }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await saved.createReadStream()) chunks.push(Buffer.from(chunk));
    expect(Buffer.concat(chunks).equals(content)).to.equal(true);
    await page.getByRole('button', { name: /^Delete .*txt$/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete file' }).click();
    await page.getByText('No file yet.').waitFor();

    await page.getByRole('tab', { name: 'Public links' }).click();
    await press(page, 'New link');
    await dialog.getByLabel('Page').fill('status');
    await dialog.getByRole('button', { name: 'Make the link' }).click();
    const link = await dialog.locator('.secret code').textContent();
    expect((await site.world.anybody.get(new URL(link ?? '').pathname)).status).to.equal(200);
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Revoke the link to status' }).click();
    await dialog.getByRole('button', { name: 'Revoke link' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect((await site.world.anybody.get(new URL(link ?? '').pathname)).status).to.equal(404);
  }).timeout(60_000);

  it('shows the workflows, and publishes a draft', async () => {
    const draft = {
      initial: 'a',
      states: [
        { key: 'a', label: XSS },
        { key: 'b', label: 'B', final: true },
      ],
      transitions: [{ event_name: 'go', from: 'a', to: 'b' }],
    };
    await tenant.admin.api.request('PUT', '/api/v1/tenant/workflows/expense_flow', draft);
    const page = await site.browser.openAs(tenant.admin.token, '/workflows');
    await page.getByText('Draft', { exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'expense_flow' }).click();
    await page.getByRole('img', { name: /^State machine expense_flow with 4 states/ }).waitFor();
    await page.getByRole('img', { name: /^State machine expense_flow, draft with 2 states/ }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await press(page, 'Publish the draft');
    await page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
    await page.getByText('Version 2 was published.').waitFor();
  }).timeout(60_000);
});
