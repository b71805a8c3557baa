import { expect } from 'chai';
import type { Page, Route } from 'playwright-core';
import { z } from 'zod';
import { consoleSuite, goTo } from '../../support/console-suite.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { type TestTenant, talk } from '../../support/world.ts';
import { DELETE, preview } from '../bulk/support.ts';
import { entitle } from '../ledger/support.ts';
import { OPEN, subscribe } from '../webhooks/support.ts';
import { defineEntity, ENTITIES } from '../workflow/support.ts';
import type { Audience } from './everything.ts';

interface List {
  readonly audience: Audience;
  /** Path of its page; `{name}` stands for the id of a resource. */
  readonly at: string;
  /** API path that the list reads, without the common prefix. */
  readonly reads: string;
  /** Text of the empty list; undefined for a list that is never empty. */
  readonly empty?: string;
}

const list = (audience: Audience, at: string, reads: string, empty?: string): List => ({
  ...{ audience, at, reads },
  ...(empty === undefined ? {} : { empty }),
});

const RECORD = '/entities/thing/records/{record}';
const BILLING = '/partner-portal/billing';
/** Differs from the month that the first page after the sign-in reads. */
const MONTH = 'from=2026-02-01&to=2026-03-01';

/** Every list, and the pages of single resources, which load like lists. */
const LISTS: readonly List[] = [
  list('tenant', '/api-tokens', '/api-tokens', 'No tokens yet'),
  list('tenant', '/bulk', '/bulk-ops/sessions', 'No bulk operation yet'),
  list('tenant', '/bulk/new', '/entities', 'No entity yet'),
  list('tenant', '/bulk/{bulk}', '/bulk-ops/sessions/{bulk}'),
  list('tenant', '/event-log', '/audit/event-log'),
  list('tenant', '/events', '/audit/events'),
  list('tenant', '/events?category=nothing', '/audit/events', 'No event matches these filters'),
  list('tenant', '/events/streams/{tenant}.record-{record}', '/audit/events'),
  list('tenant', '/events/verification', '/audit/proof'),
  list('tenant', '/extensions', '/extensions', 'No extensions yet'),
  list('tenant', '/forms', '/forms', 'No form yet'),
  list('tenant', '/ledger', '/reports/trial-balance', 'No posted entries in this range'),
  list('tenant', '/ledger?report=pnl', '/reports/pnl', 'No posted entries in this range'),
  list('tenant', '/ledger?report=balance-sheet', '/reports/balance-sheet', 'No posted entries in this range'),
  list('tenant', '/ledger/accounts', '/gl/accounts', 'No accounts yet'),
  list('tenant', '/ledger/entries', '/gl/entries', 'No entries yet'),
  list('tenant', '/ledger/failures', '/gl/posting-failures', 'No failures'),
  list('tenant', '/ledger/rules', '/gl/posting-rules', 'No posting rules yet'),
  list('tenant', '/messages', '/messaging/conversations', 'No conversation yet'),
  list('tenant', '/messages/{conversation}', '/messaging/conversations/{conversation}'),
  list(
    'tenant',
    '/messages/{conversation}',
    '/messaging/conversations/{conversation}/messages',
    'No messages yet.',
  ),
  list('tenant', '/notifications', '/notifications', 'No mentions yet'),
  list('tenant', '/records', '/entities', 'No entity yet'),
  list('tenant', '/records/thing?filter=false', '/entities/thing/records', 'No record matches the filter'),
  list('tenant', '/records/thing/{record}', RECORD),
  list('tenant', '/records/thing/{record}', '/jobs/{record}'),
  list('tenant', '/records/thing/{record}', `${RECORD}/notes`, 'No note yet.'),
  list('tenant', '/records/thing/{record}?show=files', `${RECORD}/files`, 'No file yet.'),
  list('tenant', '/records/thing/{record}?show=links', '/jobs/{record}/links', 'No link yet.'),
  list('tenant', '/users', '/users'),
  list('tenant', '/webhooks', '/webhooks', 'No subscription yet'),
  list('tenant', '/webhooks/{webhook}', '/webhooks/{webhook}'),
  list('tenant', '/webhooks/{webhook}', '/webhooks/{webhook}/deliveries', 'No deliveries yet'),
  list('tenant', '/workflows', '/workflows', 'No workflow yet'),
  list('tenant', '/workflows/thing_flow', '/workflows/thing_flow'),
  list('platform', '/platform/overview', '/metrics'),
  list('platform', '/platform/partners', '/super/partners'),
  list('platform', '/platform/projections', '/super/projections'),
  list('platform', '/platform/projections', '/metrics'),
  list('platform', '/platform/tenants', '/super/tenants'),
  list('platform', '/platform/tenants/{tenant}', '/super/tenants/{tenant}'),
  list('partner', `/billing?${MONTH}`, `${BILLING}/statements`, 'No customers in this window'),
  list(
    'partner',
    `/billing/customers/{tenant}?${MONTH}`,
    `${BILLING}/statements`,
    'It was not your customer in this window',
  ),
  list('partner', '/billing/invoices', `${BILLING}/invoices`, 'No invoices yet'),
  list('partner', '/billing/prices', `${BILLING}/rate-card`),
  list('partner', '/billing/reconciliation', `${BILLING}/reconciliation`, 'No usage in this window'),
];

const BEGINNINGS: Readonly<Record<Audience, string>> = {
  tenant: '/api/v1/tenant',
  platform: '',
  partner: '/api/v1',
};

const withId = z.looseObject({ id: z.string() });

describe('Lists of the Console', () => {
  /** A tenant with nothing but its admin. */
  let bare: TestTenant;
  /** A tenant with one resource of each kind that has lists. */
  let tenant: TestTenant;
  let partner: TestPartner;
  const ids = new Map<string, string>();

  const site = consoleSuite(
    async ({ world, browser }) => {
      [bare, tenant] = [await world.tenant(), await world.tenant()];
      partner = await newPartner(world);
      for (const each of [bare, tenant]) {
        await entitle(world, each);
        await world.platform.patch(`/super/tenants/${each.id}`, { plan: 'enterprise' });
      }
      const { api } = tenant.admin;
      ids.set('tenant', tenant.id);
      ids.set('conversation', await talk(tenant.admin, await tenant.person('Ben')));
      await defineEntity(tenant, 'thing');
      const made = (await api.post(`${ENTITIES}/thing/records`, { values: { title: 'One' } })).as(
        withId,
        201,
      );
      ids.set('record', made.id);
      const { url } = await startReceiver();
      ids.set('webhook', (await subscribe(tenant.admin, url, { events: ['form.submitted'] })).id);
      ids.set('bulk', (await preview(tenant.admin, 'thing', DELETE, [made.id])).id);
      browser.expect(/status of 500/);
    },
    { env: OPEN, end: closeReceivers },
  );

  const filled = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
      const id = ids.get(name);
      if (id === undefined) throw new Error(`there is no ${name}`);
      return id;
    });

  /** Signs in, at a page that reads none of the tested lists. */
  const open = async (audience: Audience, of: TestTenant): Promise<Page> => {
    if (audience === 'platform') return site.openPlatform('/platform/none');
    if (audience === 'tenant') return site.browser.openAs(of.admin.token, '/time-travel');
    const page = await site.openPartner(partner.id);
    await goTo(page, '/billing/texts');
    return page;
  };

  const opened = new Map<string, Page>();
  /** A page that has not read this path of the API, and so has no former answer to show. */
  const pageWithout = async (path: string, audience: Audience, of: TestTenant): Promise<Page> => {
    const person = audience === 'tenant' ? of.id : audience;
    const present = opened.get(person);
    if (present !== undefined && !site.browser.pathsOf(present).has(path)) return present;
    await present?.context().close();
    const page = await open(audience, of);
    opened.set(person, page);
    return page;
  };
  afterEach(function () {
    if (this.currentTest?.isFailed() === true) opened.clear();
  });

  for (const { audience, at, reads, empty } of LISTS) {
    it(`show that they are loading, why loading failed, and that they are empty: ${at}, ${reads}`, async () => {
      const path = `${BEGINNINGS[audience]}${filled(reads)}`;
      const page = await pageWithout(path, audience, /\{|thing/.test(at) ? tenant : bare);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const waits = Promise.withResolvers<void>();
      let fails = true;
      const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
      const isTested = ({ pathname }: URL): boolean => pathname === path;
      await page.route(isTested, async (route) => {
        await waits.promise;
        await (fails ? route.fulfill({ status: 500, json: broken }) : route.continue());
      });
      await goTo(page, filled(at));
      await page
        .getByRole('status', { name: /^Loading / })
        .first()
        .waitFor();
      waits.resolve();
      const problem = page
        .getByRole('main')
        .getByRole('alert')
        .filter({ hasText: 'Something failed.' })
        .first();
      await problem.getByText('internal_error').waitFor();
      fails = false;
      await problem.getByRole('button', { name: 'Try again' }).waitFor();
      // Clicks all of them, since several parts of the page may read the same list.
      await page.evaluate(
        `for (const each of document.querySelectorAll('main [role=alert] button')) each.click()`,
      );
      await page.getByRole('main').getByRole('alert').first().waitFor({ state: 'detached' });
      if (empty !== undefined) await page.getByText(empty, { exact: true }).first().waitFor();
      await page.locator('main .skeleton').first().waitFor({ state: 'detached' });
      await page.unroute(isTested);
    }).timeout(60_000);
  }

  /** The files of a record, 250 of them, in pages of 100. `answer` may hold a page back or refuse it. */
  const openFiles = async (answer: (after: number, route: Route) => Promise<unknown>): Promise<Page> => {
    const path = `${BEGINNINGS.tenant}${filled(RECORD)}/files`;
    const page = await open('tenant', tenant);
    await page.route(
      ({ pathname }) => pathname === path,
      (route) => answer(Number(new URL(route.request().url()).searchParams.get('after') ?? 0), route),
    );
    await goTo(page, filled('/records/thing/{record}?show=files'));
    await page.getByText('file 99', { exact: true }).waitFor();
    return page;
  };
  const answerFiles = (after: number, route: Route): Promise<void> => {
    const json = Array.from({ length: Math.min(100, 250 - after) }, (_, nth) => ({
      id: `f-${after + nth}`,
      filename: `file ${after + nth}`,
      size: 1,
      content_type: 'text/plain',
      sha256: '0'.repeat(64),
      created_at: new Date().toISOString(),
    }));
    const [path] = route.request().url().split('?');
    const link = after < 200 ? { link: `<${path}?after=${after + 100}>; rel="next"` } : {};
    return route.fulfill({ json, headers: link });
  };
  const namesOf = (page: Page): Promise<string[]> => page.locator('.files strong').allInnerTexts();
  const NAMES = Array.from({ length: 250 }, (_, nth) => `file ${nth}`);
  const more = (page: Page) => page.getByRole('button', { name: 'More files' });

  it('show each item once when the next page is asked for twice', async () => {
    const waits = Promise.withResolvers<void>();
    const page = await openFiles(async (after, route) => {
      if (after === 100) await waits.promise;
      await answerFiles(after, route);
    });
    await Promise.all([page.waitForRequest(/after=100/), more(page).click()]);
    await more(page).click();
    waits.resolve();
    await page.getByText('file 199', { exact: true }).waitFor();
    await more(page).click();
    await more(page).waitFor({ state: 'detached' });
    expect(await namesOf(page)).to.deep.equal(NAMES);
    await page.context().close();
  }).timeout(60_000);

  it('show that a page failed until the list is read again, and not the end of the list', async () => {
    let fails = true;
    const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
    const page = await openFiles((after, route) =>
      after === 100 && fails ? route.fulfill({ status: 500, json: broken }) : answerFiles(after, route),
    );
    const problem = page.getByRole('main').getByRole('alert').filter({ hasText: 'Something failed.' });
    await more(page).click();
    await problem.waitFor();
    fails = false;
    await more(page).click();
    await problem.getByRole('button', { name: 'Try again' }).click();
    await problem.waitFor({ state: 'detached' });
    for (const name of ['file 199', 'file 249']) {
      await more(page).click();
      await page.getByText(name, { exact: true }).waitFor();
    }
    expect(await namesOf(page)).to.deep.equal(NAMES);
    await page.context().close();
  }).timeout(60_000);

  it('show why an empty list could not be read again', async () => {
    const page = await open('tenant', bare);
    await goTo(page, '/api-tokens');
    await page.getByText('No tokens yet').waitFor();
    await goTo(page, '/none');
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
    await page.route('**/api/v1/tenant/api-tokens?*', (route) =>
      route.fulfill({ status: 500, json: broken }),
    );
    // The answer is no longer fresh.
    await page.clock.setFixedTime(Date.now() + 60_000);
    await goTo(page, '/api-tokens');
    await page.getByRole('main').getByRole('alert').getByText('Something failed.').waitFor();
    await page.context().close();
  }).timeout(60_000);
});
