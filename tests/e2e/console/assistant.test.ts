import { expect } from 'chai';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, XSS } from '../../support/console-suite.ts';
import { uploaded } from '../../support/uploads.ts';
import type { TestTenant } from '../../support/world.ts';
import { askUntil, defineOrders, entitle, MODEL, newOrder } from '../assistant/support.ts';

const LYON = 'What did we promise the customer in Lyon?';

describe('The assistant page', function () {
  this.timeout(120_000);
  let tenant: TestTenant;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await world.tenant();
      await defineOrders(tenant);
    },
    { env: MODEL },
  );

  it('says what to do where the tenant has no assistant', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/assistant');
    await page.getByText('Ask something').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Question').fill(XSS);
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('assistant_not_entitled').waitFor();
    await page.getByText(/A platform admin can switch it on/).waitFor();
    await page.getByText(XSS).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  });

  it('answers with sources that lead to their records, and keeps the conversation', async () => {
    await entitle(site.world, tenant);
    const order = await newOrder(tenant.admin.api, {
      name: 'Bakery in Lyon',
      promise: `We promised the customer free delivery of all chairs before Easter. ${XSS}`,
    });
    await askUntil(tenant.admin, LYON, ({ retrieved_chunks }) => retrieved_chunks.length > 0);
    const page = await site.browser.openAs(tenant.admin.token, '/assistant');
    await page.getByRole('button', { name: 'Read all sources' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Read them' }).click();
    await page.getByText(/sources added, /).waitFor();
    await page.getByLabel('Question').fill(LYON);
    await page.getByLabel('Question').press('Enter');
    const log = page.getByRole('log', { name: 'Conversation' });
    await log
      .getByText(/free delivery of all chairs before Easter/)
      .first()
      .waitFor();
    const source = log.getByRole('list', { name: 'Sources' }).getByRole('link').first();
    expect(await source.getAttribute('href')).to.equal(`/console/records/orders/${order.id}`);
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByLabel('Question').fill('And how many volcanoes erupted on Iceland?');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('button', { name: 'Ask', exact: true }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Assistant' }).click();
    await log.getByText(LYON).waitFor();
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page.getByText('Ask something').waitFor();
  });

  it('leads from a file to the files of its record', async () => {
    const order = await newOrder(tenant.admin.api, { name: 'Museum in Oslo' });
    const text = 'The insurance of the paintings ends in March 2031.';
    await uploaded(tenant.admin.api, order, text, { filename: 'insurance.txt' });
    const question = 'When does the insurance of the paintings end?';
    await askUntil(tenant.admin, question, ({ retrieved_chunks }) =>
      retrieved_chunks.some(({ source_kind }) => source_kind === 'attachment'),
    );
    const page = await site.browser.openAs(tenant.admin.token, '/assistant');
    await page.getByLabel('Question').fill(question);
    await page.getByRole('button', { name: 'Ask' }).click();
    const file = page.getByRole('list', { name: 'Sources' }).getByRole('link', { name: /insurance\.txt/ });
    await file.first().click();
    await page.getByRole('heading', { level: 1, name: 'Museum in Oslo' }).waitFor();
    await page.getByText('insurance.txt').first().waitFor();
  });

  it('distinguishes an unavailable language model from one with invalid answers', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/assistant');
    const answers = [
      [503, 'unavailable', /does not answer at the moment/],
      [503, 'embedding_model_unavailable', /without its language index/],
      [409, 'assistant_upstream_unexpected', /sent an invalid answer/],
    ] as const;
    for (const [status, error, advice] of answers) {
      // The client retries a 503: each retry gets the same answer.
      await page.route('**/api/v1/tenant/ai/assistant/ask', (route) =>
        route.fulfill({ status, json: { error, message: 'It did not work.', request_id: 'r' } }),
      );
      site.browser.expect(/status of 503/);
      await page.getByLabel('Question').fill(`Why ${error}?`);
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await page.getByText(advice).waitFor();
    }
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.unroute('**/api/v1/tenant/ai/assistant/ask');
    await page.getByRole('button', { name: 'Ask again' }).last().click();
    await page.getByRole('button', { name: 'Ask again' }).nth(2).waitFor({ state: 'detached' });
  });
});
