import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { give, partnerWith, putCard, RATE_CARD, statementsOf } from '../../support/billing.ts';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo, XSS } from '../../support/console-suite.ts';
import { assertion, type TestPartner } from '../../support/partners.ts';
import { newEntity, newRecord } from '../../support/records.ts';
import { eventually } from '../../support/server.ts';
import { now } from '../../support/tokens.ts';
import type { TestTenant } from '../../support/world.ts';

const heading = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor();

describe('The billing pages', () => {
  let partner: TestPartner;
  let customer: TestTenant;

  const signIn = (own: Record<string, unknown> = {}): Promise<Page> => site.openPartner(partner.id, own);
  const open = async (title: string): Promise<Page> => {
    const page = await site.visitPartner(partner.id);
    await page.getByRole('navigation', { name: 'Billing' }).getByRole('link', { name: title }).click();
    return page;
  };

  const site = consoleSuite(async ({ world }) => {
    const made = await partnerWith(world, 1);
    partner = made.partner;
    [customer] = made.tenants as [TestTenant];
    await world.platform.patch(`/super/tenants/${customer.id}`, { name: XSS });
    await putCard(partner, { records_created: { wholesale: '40', retail: '125' } });
    const entity = await newEntity(customer);
    for (let nth = 0; nth < 3; nth += 1) await newRecord(customer, entity);
    await eventually('three records are counted', async () => {
      const [statement] = await statementsOf(partner);
      return statement?.lines.some(({ meter, quantity }) => meter === 'records_created' && quantity === 3);
    });
  });

  it('lead from a figure to the events behind it', async () => {
    const page = await site.visitPartner(partner.id);
    await page.getByRole('link', { name: 'Retail €3.75' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('gridcell', { name: XSS }).getByRole('link').click();
    await heading(page, XSS);
    await page.getByRole('row', { name: /^Records created 3/ }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const line = page.getByRole('row', { name: /^Records created 3/ });
    for (const amount of ['€1.20', '€3.75'])
      expect(await line.getByRole('link', { name: amount }).getAttribute('href')).to.match(
        /\/billing\/customers\/[^/]+\/records_created/,
      );
    const total = page.getByRole('row', { name: /^Total/ }).getByRole('link', { name: '€3.75' });
    expect(await total.getAttribute('href')).to.contain('/billing/reconciliation');
    await page.getByRole('link', { name: '3: the events of Records created' }).click();
    await heading(page, 'Records created');
    await page.getByRole('gridcell', { name: 'RecordCreated' }).nth(2).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Last month' }).click();
    await page.getByText('Nothing was counted in this window').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('show what is invoiced and what is not, by customer and by meter', async () => {
    const page = await open('Reconciliation');
    await page.getByRole('link', { name: /^Not invoiced yet, retail €3\.75/ }).waitFor();
    await page.getByRole('img', { name: /^Retail amounts by month/ }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const hrefs = async (name: string): Promise<(string | null)[]> => {
      const links = await page.getByRole('row', { name }).getByRole('link', { name: '€' }).all();
      return Promise.all(links.map((link) => link.getAttribute('href')));
    };
    const byCustomer = `/console/billing/customers/${customer.id}`;
    const invoices = `/console/billing/invoices?customer=${customer.id}`;
    // Links of retail, invoiced, not invoiced, wholesale and margin.
    expect(await hrefs(XSS)).to.deep.equal([byCustomer, invoices, byCustomer, byCustomer, byCustomer]);
    await page.getByRole('tab', { name: 'By meter' }).click();
    await page.getByRole('gridcell', { name: 'Records created' }).waitFor();
    const all = '/console/billing';
    expect(await hrefs('Records created')).to.deep.equal([all, `${all}/invoices`, all, all, all]);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(await readFile(await file.path(), 'utf8')).to.contain('records_created');
  }).timeout(60_000);

  it('show sums in the currency of the rate card, also in a window without statements', async () => {
    const { partner: other, tenants } = await partnerWith(site.world, 1);
    const rates = { records_created: { wholesale: '40', retail: '125' } };
    await other.api.request('PUT', RATE_CARD, { currency: 'USD', rates });
    const [tenant] = tenants as [TestTenant];
    await newRecord(tenant, await newEntity(tenant));
    await eventually('a record is counted', async () => {
      const [statement] = await statementsOf(other);
      return statement?.totals.retail === 125;
    });
    // Without a customer, the window of the page has no statement.
    await give(site.world, tenant.id, null);
    const page = await site.openPartner(other.id);
    await goTo(page, '/billing/reconciliation?from=2020-01-01&to=2020-02-01');
    await page.getByRole('img', { name: /^Retail amounts by month.*\$1\.25/ }).waitFor();
    await page.getByRole('link', { name: /^Invoiced, retail \$0\.00/ }).waitFor();
  }).timeout(60_000);

  it('change prices, show a refusal at its field, and notice a newer card', async () => {
    const page = await open('Rate card');
    await page.getByLabel('Messages sent, wholesale').fill(XSS);
    await page.getByLabel('Messages sent, retail').fill('2.5');
    const save = page.getByRole('button', { name: 'Save as a new version' });
    await save.click();
    await page.getByRole('alert').first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Messages sent, wholesale').fill('1');
    await page.getByLabel('Messages sent, included').fill('10');
    await save.click();
    await page.getByText('Version 2 is saved.').waitFor();
    await page.getByRole('heading', { name: 'Version 2' }).waitFor();
    await putCard(partner, { records_created: { wholesale: '40', retail: '125' } });
    await page.getByLabel('Messages sent, retail').fill('3');
    await save.click();
    await page.getByText('conflict').waitFor();
    await page.getByRole('button', { name: 'Load the current card' }).click();
    await page.getByRole('heading', { name: 'Version 3' }).waitFor();
    expect(await page.getByLabel('Messages sent, retail').inputValue()).to.equal('');
  }).timeout(60_000);

  it('preview texts of invoices as they are typed', async () => {
    const page = await open('Texts');
    await page.getByLabel('Name of a line').fill(`${XSS} {{meter}} {{nothing}}`);
    const preview = page.getByRole('status', { name: 'Preview' });
    await preview.getByText(`${XSS} messages_sent`).waitFor();
    await page.getByText('There is no variable {{nothing}}.').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The template has an unknown variable.').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Name of a line').fill(`${XSS} {{ meter }} {{period}}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The texts are saved.').waitFor();
  }).timeout(60_000);

  it('make, download, void and issue an invoice', async () => {
    const page = await open('Invoices');
    await page.getByText('No invoices yet').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'New invoice' }).click();
    await dialog.getByRole('button', { name: 'Make the invoice' }).click();
    await dialog.getByText('nothing_to_invoice').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Statements' }).click();
    await page.getByRole('gridcell', { name: XSS }).getByRole('link').click();
    const sent: unknown[] = [];
    await page.route('**/invoices/generate', async (route) => {
      sent.push(route.request().postDataJSON());
      await route.continue();
    });
    const make = async (number: string): Promise<void> => {
      await page.getByRole('button', { name: 'Make an invoice' }).click();
      const question = await dialog.textContent();
      await dialog.getByRole('button', { name: 'Make the invoice' }).click();
      await heading(page, number);
      // The question and the request name the same window.
      const { from, to } = z.looseObject({ from: z.string(), to: z.string() }).parse(sent.at(-1));
      expect(question).to.contain(`${from.slice(0, 10)} to before ${to.slice(0, 10)}`);
    };
    await make(`${customer.id}-1`);
    await page.getByText(`${XSS} records_created`).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the page' }).click(),
    ]);
    const html = await readFile(await file.path(), 'utf8');
    expect(html).to.contain(`${customer.id}-1`).and.not.contain('<script>alert');
    await page.getByRole('button', { name: 'Void' }).click();
    await dialog.getByText('This cannot be undone.').waitFor();
    await dialog.getByRole('button', { name: 'Void the invoice' }).click();
    await page.getByText('It is void; its window is free for another invoice.').waitFor();
    await page.getByRole('link', { name: 'statement' }).click();
    await make(`${customer.id}-2`);
    await page.getByRole('button', { name: 'Issue' }).click();
    await dialog.getByRole('button', { name: 'Issue the invoice' }).click();
    await page.getByText('The billing system has received it.').waitFor();
    await page.getByRole('link', { name: 'Invoices' }).click();
    await page.getByRole('combobox', { name: 'State' }).selectOption('void');
    await page.getByRole('gridcell', { name: `${customer.id}-1` }).waitFor();
    expect(await page.getByRole('gridcell', { name: `${customer.id}-2` }).count()).to.equal(0);
    await page.unroute('**/invoices/generate');
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('offer an invoice for a customer of the last month only', async () => {
    const page = await signIn();
    const totals = { wholesale: 0, retail: 0, margin: 0, margin_pct: null };
    await page.route('**/billing/statements?*', async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
      const hasLeft = { id: 'left', name: 'Has left' };
      const window = { from: `${from}T00:00:00.000Z`, to: `${to}T00:00:00.000Z`, open: true };
      const json = [{ customer: hasLeft, window, currency: 'EUR', rate_card_version: 1, lines: [], totals }];
      const isLast = from !== '' && from < new Date().toISOString().slice(0, 7);
      await route.fulfill({ json: isLast ? json : [] });
    });
    await goTo(page, '/billing/invoices');
    await page.getByRole('button', { name: 'New invoice' }).click();
    await page.getByRole('dialog').getByLabel('Customer').selectOption('left');
  }).timeout(60_000);

  it('ask for a new assertion when the session has ended, and then continue', async () => {
    const page = await signIn();
    await page.route(
      '**/billing/rate-card',
      (route) => route.fulfill({ status: 401, json: { error: 'unauthenticated', message: 'It has ended.' } }),
      { times: 1 },
    );
    await page.getByRole('link', { name: 'Rate card' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Assertion of the hosting portal').fill(XSS);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByRole('alert').first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog
      .getByLabel('Assertion of the hosting portal')
      .fill(assertion(partner.id, { exp: now() + 200 }));
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Records created, retail').waitFor();
  }).timeout(60_000);

  it('say when the person has no permission for billing', async () => {
    const page = await signIn({ permissions: [] });
    await page.getByRole('alert').first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);
});
