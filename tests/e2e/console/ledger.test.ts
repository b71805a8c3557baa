import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo, XSS } from '../../support/console-suite.ts';
import { eventually } from '../../support/server.ts';
import type { Member } from '../../support/world.ts';
import { drafted, move, posted, withBooks } from '../ledger/support.ts';

describe('The ledger pages', () => {
  let admin: Member;

  const site = consoleSuite(async ({ world }) => {
    ({ admin } = await withBooks(world));
    await posted(admin.api, { date: '2026-03-02', memo: XSS, lines: move('1000', '4000', 12_345) });
  });

  const heading = (page: Page, name: string | RegExp): Promise<void> =>
    page.getByRole('heading', { level: 1, name }).waitFor();

  it('lead from a figure to its entries, to an entry and to its events', async () => {
    const page = await site.visit(admin.token, '/ledger');
    await page.getByText('Balanced', { exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('row', { name: /^4000/ }).getByRole('link', { name: '€123.45' }).first().click();
    await heading(page, 'Entries');
    expect(await page.getByRole('textbox', { name: 'Account' }).inputValue()).to.equal('4000');
    await page.getByText(XSS).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: '#1' }).click();
    await heading(page, 'Entry #1');
    await page.getByRole('cell', { name: '€123.45' }).first().waitFor();
    await page.getByRole('link', { name: 'What happened to this entry' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.goBack();
    await heading(page, 'Entries');
  }).timeout(60_000);

  it('show profit and loss and the balance sheet over months', async () => {
    const page = await site.visit(admin.token, '/time-travel');
    // Records the texts that the chart draws on its canvas.
    await page.evaluate(`{
      const { fillText } = CanvasRenderingContext2D.prototype;
      globalThis.written = [];
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        globalThis.written.push(text);
        return fillText.call(this, text, ...place);
      };
    }`);
    await goTo(page, '/ledger?report=pnl&from=2026-01-01&to=2026-12-31');
    await page.getByRole('heading', { name: 'Profit and loss from 2026-01-01 to 2026-12-31' }).waitFor();
    await page.getByRole('img', { name: /^Revenue, expenses and net income/ }).waitFor();
    // `waitForFunction` would retry by evaluating a text, which the content security policy forbids.
    await eventually('months on the axis', () =>
      page.evaluate(`globalThis.written.some((text) => /^(Jan|Apr|Jul|Oct)/.test(text))`),
    );
    const days = await page.evaluate(`globalThis.written.filter((text) => /^\\d+\\/\\d+/.test(text))`);
    expect(days).to.deep.equal([]);
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('tab', { name: 'Balance sheet' }).click();
    await page.getByRole('row', { name: 'Current earnings' }).waitFor();
    await page.getByRole('img', { name: /^Total assets/ }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('write a draft, show a refusal at its field, and post and reverse the entry', async () => {
    const page = await site.visit(admin.token, '/ledger/new-entry');
    await page.getByLabel('Memo', { exact: true }).fill(XSS);
    await page.getByRole('combobox', { name: 'Account' }).nth(0).fill('no-such');
    await page.getByLabel('Debit').nth(0).fill('10.50');
    await page.getByRole('combobox', { name: 'Account' }).nth(1).fill('4000');
    await page.getByText('€10.50 missing on the credit side').waitFor();
    await page.getByLabel('Credit').nth(1).fill('10.5');
    await page.getByText('Balanced: €10.50 on each side').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    site.browser.expect(/status of 422/);
    await page.getByRole('button', { name: 'Save draft' }).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByRole('combobox', { name: 'Account' }).nth(0).fill('1000');
    await page.getByRole('button', { name: 'Save draft' }).click();
    await heading(page, 'Draft');
    await page.getByRole('button', { name: 'Post' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Post entry' }).click();
    await heading(page, /^Entry #/);
    await page.getByRole('button', { name: 'Reverse' }).click();
    await page.getByRole('dialog').getByLabel('Memo').fill('Typed twice');
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Reverse entry' }).click();
    await page.getByText('Typed twice').waitFor();
    await page.getByText('Reverses', { exact: true }).waitFor();
  }).timeout(60_000);

  it('open accounts, lock a period, and discard a draft', async () => {
    const { id } = await drafted(admin.api, {});
    const page = await site.visit(admin.token, '/ledger/accounts');
    await page.getByRole('gridcell', { name: '4000', exact: true }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Code').fill('X1');
    await dialog.getByLabel('Name').fill(XSS);
    await dialog.getByRole('button', { name: 'Open account' }).click();
    await page.getByRole('gridcell', { name: XSS }).waitFor();
    await page.getByRole('button', { name: 'Lock books' }).click();
    await dialog.getByLabel('Through').fill('2020-12-31');
    await dialog.getByRole('button', { name: 'Lock', exact: true }).click();
    await page.getByText('The books are locked through 2020-12-31').waitFor();
    await goTo(page, `/ledger/entries/${id}`);
    await page.getByRole('button', { name: 'Discard' }).click();
    await dialog.getByRole('button', { name: 'Discard draft' }).click();
    await heading(page, 'Entries');
  }).timeout(60_000);

  it('show rules, the entries that they would make, and failures', async () => {
    await admin.api.post('/api/v1/tenant/gl/posting-rules', {
      name: XSS,
      source_kind: 'job.transition',
      mode: 'draft',
      lines: [
        { account_code: '1000', side: 'debit', amount: { fixed: 4900 } },
        { account_code: '4000', side: 'credit', amount: { remainder: true } },
      ],
    });
    const page = await site.visit(admin.token, '/ledger/rules');
    await page.getByRole('link', { name: XSS }).click();
    await heading(page, XSS);
    await page.getByLabel('Payload').fill('{"to_state": "done"}');
    await page.getByRole('button', { name: 'Show the entry' }).click();
    await page.getByText('matches').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Stop rule' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop rule' }).click();
    await page.getByRole('button', { name: 'Start rule' }).waitFor();
    await goTo(page, '/ledger/failures');
    await page.getByText('No failures').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);
});
