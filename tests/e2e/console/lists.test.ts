import { expect } from 'chai';
import { z } from 'zod';
import { type ConsoleBrowser, noBrowser, startConsole } from '../../support/console.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

/** Of each list: its page, what it reads, and what it says in a tenant that has nothing; undefined: there is always something. */
const LISTS: readonly (readonly [page: string, reads: string, empty: string | undefined])[] = [
  ['/api-tokens', '/api-tokens', 'No tokens yet'],
  ['/bulk', '/bulk-ops/sessions', 'No bulk operation yet'],
  ['/bulk/new', '/entities', 'No entity yet'],
  ['/event-log', '/audit/event-log', undefined],
  ['/events', '/audit/events', undefined],
  ['/extensions', '/extensions', 'No extensions yet'],
  ['/forms', '/forms', 'No form yet'],
  ['/messages', '/messaging/conversations', 'No conversation yet'],
  ['/notifications', '/notifications', 'Nobody mentioned you yet'],
  ['/records', '/entities', 'No entity yet'],
  ['/users', '/users', undefined],
  ['/webhooks', '/webhooks', 'No subscription yet'],
  ['/workflows', '/workflows', 'No workflow yet'],
];

describe('Lists of the Console', () => {
  let world: World;
  let browser: ConsoleBrowser;
  let tenant: TestTenant;

  before(async function () {
    this.timeout(60_000);
    if (noBrowser() !== undefined) return this.skip();
    world = await sharedWorld();
    tenant = await world.tenant();
    browser = await startConsole(world.server.base);
    browser.expect(/status of 500/);
  });
  after(async () => {
    await browser?.close();
    await endWorld();
  });
  afterEach(() => {
    if (browser !== undefined) expect(browser.problems).to.deep.equal([]);
  });

  for (const [address, reads, empty] of LISTS) {
    it(`${address} says that it could not be read, is read again, and says when it is empty`, async () => {
      const page = await browser.openAs(tenant.admin.token, '/time-travel');
      await page.getByRole('heading', { level: 1 }).waitFor();
      let fails = true;
      const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
      await page.route(
        ({ pathname }) => pathname === `/api/v1/tenant${reads}`,
        (route) => (fails ? route.fulfill({ status: 500, json: broken }) : route.continue()),
      );
      await page.evaluate(`history.pushState(null, '', '/console${address}')`);
      const problem = page.getByRole('alert').filter({ hasText: 'Something failed.' }).first();
      await problem.getByText('internal_error').waitFor();
      fails = false;
      await problem.getByRole('button', { name: 'Try again' }).click();
      await problem.waitFor({ state: 'detached' });
      if (empty !== undefined) await page.getByText(empty, { exact: true }).first().waitFor();
      else await page.getByRole('grid').getByRole('row').nth(1).waitFor();
      expect(z.number().parse(await page.getByRole('alert').count())).to.equal(0);
      await page.context().close();
    }).timeout(60_000);
  }
});
