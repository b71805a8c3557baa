import { expect } from 'chai';
import { consoleSuite, goTo, settled } from '../../support/console-suite.ts';
import { newPartner } from '../../support/partners.ts';
import { closeReceivers } from '../../support/webhook-receiver.ts';
import { OPEN } from '../webhooks/support.ts';
import { type Audience, allPages, type Everything, everything } from './everything.ts';

const SECRET = 'Secret of Lyon';

describe('Pages of the Console for others', () => {
  let all: Everything;
  const site = consoleSuite(
    async ({ world }) => {
      all = await everything(world, SECRET);
    },
    { env: OPEN, end: closeReceivers },
  );
  const pagesOf = (audience: Audience) => allPages().filter((page) => page.audience === audience);

  it('show nothing of another tenant, whatever address is opened', async () => {
    const other = await site.world.tenant();
    const page = await site.browser.openAs(other.admin.token, '/overview');
    for (const { pattern } of pagesOf('tenant')) {
      await goTo(page, all.addresses[pattern] ?? '');
      await settled(page);
      expect(await page.locator('body').textContent(), pattern).not.to.contain(SECRET);
    }
  }).timeout(180_000);

  it('show nothing of the customers of another partner', async () => {
    const page = await site.openPartner((await newPartner(site.world)).id);
    for (const { pattern } of pagesOf('partner')) {
      await goTo(page, all.addresses[pattern] ?? '');
      await settled(page);
      expect(await page.locator('body').textContent(), pattern).not.to.contain(SECRET);
    }
  }).timeout(180_000);

  it('that are for admins are neither shown to operators nor linked for them', async () => {
    const operator = await all.tenant.person('Operator');
    const page = await site.browser.openAs(operator.token, '/overview');
    const forAdmins = new Set(
      pagesOf('tenant')
        .filter(({ isForAdmins }) => isForAdmins)
        .map(({ pattern }) => pattern),
    );
    const beginnings = [...forAdmins].map((pattern) => `/console${pattern.split('/:')[0]}`);
    for (const { pattern } of pagesOf('tenant')) {
      await goTo(page, all.addresses[pattern] ?? '');
      await settled(page);
      const title = await page.getByRole('heading', { level: 1 }).textContent();
      expect(title === 'No such page', pattern).to.equal(forAdmins.has(pattern));
      for (const link of await page.getByRole('main').getByRole('link').all()) {
        const href = await link.getAttribute('href');
        expect(
          beginnings.some((path) => href === path || href?.startsWith(`${path}/`) === true),
          `a link on ${pattern} to ${href}`,
        ).to.equal(false);
      }
    }
  }).timeout(180_000);
});
