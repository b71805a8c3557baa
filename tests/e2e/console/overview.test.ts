import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo } from '../../support/console-suite.ts';
import { impersonate } from '../../support/impersonate.ts';
import { eventually } from '../../support/server.ts';
import { type Member, say, type TestTenant, talk } from '../../support/world.ts';

const LIVE_EVENTS = 10_000;

describe('The overview of the Console', () => {
  let tenant: TestTenant;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await world.tenant();
    },
    { isCuttable: true },
  );

  const tile = (page: Page, label: string) =>
    page.locator('.tile', { has: page.getByText(label, { exact: true }) }).locator('.tile-value');

  it('counts messages as they come over the socket, and shows the log as it grows', async () => {
    const ben = await tenant.person('Ben');
    const conversation = await talk(ben, tenant.admin);
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await tile(page, 'Unread messages').getByText('0', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('Nothing happened since').waitFor();
    await say(ben, conversation, 'one');
    await say(ben, conversation, 'two');
    await tile(page, 'Unread messages').getByText('2', { exact: true }).waitFor();
    await page.getByRole('list', { name: 'Newest events' }).getByText('MessageSent').first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('counts what came between its first reads and the first connection of its socket', async () => {
    const bo = await tenant.person('Bo');
    const cleo = await tenant.person('Cleo');
    const conversation = await talk(bo, cleo);
    const connects = Promise.withResolvers<void>();
    const page = await site.browser.open();
    await page.routeWebSocket('**/api/v1/ws*', async (socket) => {
      await connects.promise;
      socket.connectToServer();
    });
    const token = new URLSearchParams({ token: cleo.token });
    await page.goto(`${site.world.server.base}/console/signed-in#${token}`);
    const unread = tile(page, 'Unread messages');
    await unread.getByText('0', { exact: true }).waitFor();
    await say(bo, conversation, 'early');
    connects.resolve();
    await page.getByText('Live', { exact: true }).waitFor();
    await unread.getByText('1', { exact: true }).waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('is live again when a suspended tenant is active again', async () => {
    const { id, admin } = await site.world.tenant();
    const page = await site.browser.openAs(admin.token, '/overview');
    await page.getByText('Live', { exact: true }).waitFor();
    const change = (status: string) => site.world.platform.patch(`/super/tenants/${id}`, { status });
    const refused = page.waitForResponse((answer) => answer.url().endsWith('/me') && answer.status() === 403);
    expect((await change('suspended')).status).to.equal(200);
    await refused;
    await page.getByText('Not live', { exact: true }).waitFor();
    expect((await change('active')).status).to.equal(200);
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 50_000 });
    await page.context().close();
  }).timeout(90_000);

  it('resumes after its last event when connections are cut midway', async () => {
    const [ada, ben]: Member[] = [await tenant.person('Ada', 'admin'), await tenant.person('Bo')];
    if (ada === undefined || ben === undefined) throw new Error('nobody');
    const conversation = await talk(ben, ada);
    const page = await site.browser.openAs(ada.token, '/overview');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByText('Nothing happened since').waitFor();
    site.browser.expect(/net::ERR|WebSocket connection|Failed to load resource/);
    const before = site.proxy.cuts;
    site.proxy.cut(8);
    for (let nth = 1; nth <= 30; nth += 1) await say(ben, conversation, `message ${nth}`);
    await eventually('cuts', () => site.proxy.cuts >= before + 8, 30_000);
    await tile(page, 'Unread messages').getByText('30', { exact: true }).waitFor();
    const sent = page
      .getByRole('list', { name: 'Events by type' })
      .getByRole('listitem')
      .filter({ hasText: 'MessageSent' });
    await sent.getByText('30', { exact: true }).waitFor();
  }).timeout(90_000);

  it('reads nothing repeatedly under impersonation, since each read is a line of the log', async () => {
    const repeated = async (token: string): Promise<number> => {
      const page = await site.browser.open();
      await page.clock.install();
      let reads = 0;
      page.on('request', (request) => {
        if (new URL(request.url()).pathname === '/api/v1/tenant/audit/proof') reads += 1;
      });
      await page.evaluate(`sessionStorage.setItem('console-return-to', '/console/overview')`);
      await page.goto(`${site.world.server.base}/console/signed-in#${new URLSearchParams({ token })}`);
      await page.getByText('Log signed').waitFor();
      await page.locator('main .skeleton').first().waitFor({ state: 'detached' });
      await page.clock.runFor(90_000);
      return reads;
    };
    expect(await repeated(tenant.admin.token)).to.be.greaterThan(1);
    expect(await repeated((await impersonate(site.world, tenant.id)).token)).to.equal(1);
  }).timeout(60_000);

  it('says where it counts only a part', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/time-travel');
    await page.route('**/messaging/conversations?*', (route) => {
      const json = Array.from({ length: 200 }, (_, nth) => ({ id: `c-${nth}`, unread_count: 1 }));
      return route.fulfill({ json, headers: { link: `<${route.request().url()}&cursor=x>; rel="next"` } });
    });
    await page.route('**/api/v1/tenant/webhooks?*', (route) =>
      route.fulfill({ json: Array.from({ length: 10 }, (_, nth) => ({ id: `s-${nth}`, state: 'active' })) }),
    );
    await page.route('**/deliveries?*', (route) => route.fulfill({ json: [{ status: 'delivered' }] }));
    await goTo(page, '/overview');
    await tile(page, 'Unread messages').getByText('200+', { exact: true }).waitFor();
    await page.getByText('10 of 10+ · 10+ subscriptions').waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('renders at most four times a second, however many events come', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/overview');
    await page.getByText('Nothing happened since').waitFor();
    let given = 0;
    await page.route('**/api/v1/tenant/audit/events?*', async (route) => {
      const count = Math.min(200, LIVE_EVENTS - given);
      const events = Array.from({ length: count }, (_, nth) => ({
        position: `${given + nth}`.padStart(16, '0'),
        stream: `${tenant.id}.record-${(given + nth) % 50}`,
        revision: nth,
        id: `event ${given + nth}`,
        type: 'SyntheticEvent',
        data: {},
        metadata: { occurred_at: new Date().toISOString() },
        sealed: { data: '{}', metadata: '{}' },
      }));
      given += count;
      await route.fulfill({ json: events });
    });
    await page.evaluate(`(() => {
      const began = performance.now();
      window.updates = 0;
      window.seconds = () => (performance.now() - began) / 1000;
      new MutationObserver(() => { window.updates += 1; }).observe(
        document.querySelector('[data-testid=last-minute]'), { characterData: true, subtree: true, childList: true });
    })()`);
    const types = page.getByRole('list', { name: 'Events by type' }).getByRole('listitem');
    await types.filter({ hasText: 'SyntheticEvent' }).getByText('10,000', { exact: true }).waitFor();
    const { updates, seconds } = z
      .object({ updates: z.number(), seconds: z.number() })
      .parse(await page.evaluate('({ updates: window.updates, seconds: window.seconds() })'));
    // Four updates a second for events, and one more each second when the window moves on.
    expect(updates)
      .to.be.greaterThan(0)
      .and.at.most(5 * seconds + 5);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }).timeout(90_000);
});
