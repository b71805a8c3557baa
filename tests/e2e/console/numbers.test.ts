import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { consoleSuite, goTo, settled } from '../../support/console-suite.ts';
import { closeReceivers } from '../../support/webhook-receiver.ts';
import { OPEN } from '../webhooks/support.ts';
import { allPages, type Everything, everything } from './everything.ts';

/** Elements whose numbers need no source: times, names, texts, headings, charts, positions of a slider. */
const NO_FIGURES = [
  ...[
    'time',
    'code',
    'kbd',
    'input',
    'textarea',
    'option',
    'label',
    'legend',
    'summary',
    'dt',
    'h1',
    'h2',
    'svg',
  ],
  ...['.json', '.chart', '.crumbs', '.table-foot', '.empty', '.field-hint', '[aria-live]'],
].join(', ');

/** Parts of a page, by its pattern, whose numbers are the source itself: values of records, attempts, samples. */
const SOURCES: Readonly<Record<string, string>> = {
  '/platform/overview': '[aria-label="Samples"]',
  '/records/:entity': '.page-header p, [role=gridcell]',
  '/records/:entity/:id': '.facts',
  '/webhooks/deliveries/:id': '[aria-label="Attempts"]',
};

/** Texts of the page that are a number other than zero, outside of links, buttons, {@link NO_FIGURES} and `sources`. */
const looseNumbers = async (page: Page, sources: string): Promise<readonly string[]> =>
  z.array(z.string()).parse(
    await page.evaluate(`(() => {
      const found = [];
      const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const { data, parentElement } = walker.currentNode;
        if (!/^[-+#€$£]?(?!0$)\\d[\\d,]*(\\.\\d+)?( ?(%|ms|s|min|B|kB|MB|records?|rows?))?$/.test(data.trim())) continue;
        if (parentElement.closest(${JSON.stringify(`a, button, ${NO_FIGURES}, ${sources}`)}) !== null) continue;
        const part = parentElement.closest('[aria-label]');
        found.push((part === null ? '' : part.getAttribute('aria-label')) + ': ' + data.trim());
      }
      return found;
    })()`),
  );

describe('Numbers of the Console', () => {
  let all: Everything;
  const site = consoleSuite(
    async ({ world }) => {
      all = await everything(world, 'Lyon');
    },
    { env: OPEN, end: closeReceivers },
  );

  it('link to their source, or are the source', async () => {
    const pages = {
      tenant: await site.browser.openAs(all.tenant.admin.token, '/overview'),
      platform: await site.openPlatform('/platform/overview'),
      partner: await site.openPartner(all.partner.id),
    };
    const found: Record<string, readonly string[]> = {};
    for (const { pattern, audience } of allPages()) {
      const page = pages[audience];
      await goTo(page, all.addresses[pattern] ?? '');
      await settled(page);
      const loose = await looseNumbers(page, SOURCES[pattern] ?? 'none');
      if (loose.length > 0) found[pattern] = loose;
    }
    expect(found).to.deep.equal({});
  }).timeout(180_000);
});
