import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { z } from 'zod';
import { consoleSuite, goTo, type Site, settled, XSS } from '../../support/console-suite.ts';
import { closeReceivers } from '../../support/webhook-receiver.ts';
import { OPEN } from '../webhooks/support.ts';
import { type Audience, allPages, type Everything, everything } from './everything.ts';

const TEXTS =
  'input:is(:not([type]), [type=text], [type=email], [type=url], [type=password], [type=search]), textarea';
/** Elements that exist only when the browser has interpreted markup of a text. */
const MADE = 'img[src="x"], [onerror], script:not([src])';
const BUTTONS = 'main button:not([type=submit])';

/** Number of texts that were filled with markup, and of visited pages. */
let [count, visited] = [0, 0];

/** Fills each text field in a part of a page with markup. @returns the number of fields */
const fill = async (part: Locator): Promise<number> => {
  let filled = 0;
  for (const field of await part.locator(TEXTS).all()) {
    if (!(await field.isVisible()) || !(await field.isEditable())) continue;
    await field.fill(XSS);
    // Filters apply at Enter.
    if ((await field.locator('xpath=ancestor::search').count()) > 0) await field.press('Enter');
    filled += 1;
    count += 1;
  }
  return filled;
};

/** Turns off the browser's validation, which would refuse to send an invalid URL. */
const withoutValidation = (page: Page): Promise<unknown> =>
  page.evaluate('for (const form of document.forms) form.noValidate = true');

/** Fills, sends and closes the dialog that a button opened. @returns whether the dialog had a text field */
const answerDialog = async (page: Page): Promise<boolean> => {
  const dialog = page.locator('dialog[open]').last();
  if ((await dialog.count()) === 0) return false;
  const isForm = (await fill(dialog)) > 0;
  if (isForm) {
    await withoutValidation(page);
    const send = dialog.locator('button[type=submit]');
    if ((await send.count()) > 0 && (await send.isEnabled())) await send.click();
    await settled(page);
  }
  // The submission may have closed the dialog, or opened another one.
  for (let left = 3; left > 0 && (await page.locator('dialog[open]').count()) > 0; left -= 1) {
    await page.keyboard.press('Escape');
  }
  return isForm;
};

/** Clicks a button, which an earlier click or a refetched list may have removed. @returns whether it was there */
const click = async (target: Locator): Promise<boolean> => {
  try {
    await target.click({ timeout: 10_000 });
    return true;
  } catch (error) {
    if (await target.isVisible()) throw error;
    return false;
  }
};

/** Presses a button, and each choice of a menu that it opens. @returns the number of opened forms */
const press = async (page: Page, button: Locator): Promise<number> => {
  let forms = 0;
  if (!(await click(button))) return 0;
  const choices = await page.getByRole('menuitem').count();
  if (choices === 0) return (await answerDialog(page)) ? 1 : 0;
  for (let nth = 0; nth < choices; nth += 1) {
    if ((await page.getByRole('menuitem').count()) === 0 && !(await click(button))) break;
    if ((await click(page.getByRole('menuitem').nth(nth))) && (await answerDialog(page))) forms += 1;
  }
  return forms;
};

/** Texts of buttons. */
const labels = z.array(z.string());

describe('Markup in every text of the Console', () => {
  let all: Everything;
  const site: Site = consoleSuite(
    async ({ world }) => {
      all = await everything(world, XSS);
    },
    { env: OPEN, end: closeReceivers },
  );

  const pages = new Map<Audience, Page>();
  const open = async (audience: Audience): Promise<Page> => {
    const page = pages.get(audience) ?? (await openNew(audience));
    pages.set(audience, page);
    return page;
  };
  const openNew = (audience: Audience): Promise<Page> => {
    if (audience === 'platform') return site.openPlatform('/platform/overview');
    if (audience === 'partner') return site.openPartner(all.partner.id);
    return site.browser.openAs(all.tenant.admin.token, '/overview');
  };

  it('is tried on every page', () => {
    expect(Object.keys(all.addresses).sort()).to.deep.equal(
      allPages()
        .map(({ pattern }) => pattern)
        .sort(),
    );
  });

  for (const { pattern, audience } of allPages()) {
    it(`stays a text on ${pattern}`, async () => {
      const page = await open(audience);
      await settled(page);
      visited += 1;
      const address = all.addresses[pattern] ?? '';
      const go = async (): Promise<void> => {
        await goTo(page, address);
        await settled(page);
      };
      const isClean = async (): Promise<void> => {
        expect(await page.locator(MADE).count(), 'elements made by a text').to.equal(0);
      };
      await go();
      await isClean();
      // Fills the filters, and the forms of the page itself.
      const main = page.getByRole('main');
      await fill(main);
      await withoutValidation(page);
      for (const send of await main.locator('button[type=submit]').all()) {
        if ((await send.isVisible()) && (await send.isEnabled())) await send.click();
      }
      await settled(page);
      await isClean();
      await go();
      const present = labels.parse(
        await page.locator(BUTTONS).evaluateAll((buttons) => buttons.map((each) => each.textContent)),
      );
      for (const label of new Set(present)) {
        const alike = page.locator(BUTTONS);
        const button =
          label === '' ? alike.nth(present.indexOf('')) : alike.filter({ hasText: label }).first();
        if ((await button.and(page.locator(':enabled')).count()) === 0 || !(await button.isVisible()))
          continue;
        const forms = await press(page, button);
        await isClean();
        if (forms > 0) await go();
      }
    }).timeout(180_000);
  }

  it('was put into more than two text fields per page', () => {
    expect(count / visited).to.be.greaterThan(2);
  });
});
