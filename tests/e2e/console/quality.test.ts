import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { type ConsoleBrowser, noBrowser, startConsole } from '../../support/console.ts';
import { ROOT } from '../../support/server.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

/**
 * What a page costs its processor. Processor time of the page's main thread is counted and not the clock, so that other work
 * of the machine changes nothing.
 */

const SLOWER = 4;
const ROWS = 100_000;
const FRAMES = 120;
/** `SHOW_FIGURES=1` prints what was measured. */
const SHOWS = process.env.SHOW_FIGURES !== undefined;

const metrics = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

/** A function that tells the ms of processor time that the page's main thread has used. */
const meterOf = async (page: Page): Promise<() => Promise<number>> => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const read = metrics.parse(await devtools.send('Performance.getMetrics'));
    const seconds = read.metrics.find(({ name }) => name === 'TaskDuration')?.value;
    return 1000 * (seconds ?? Number.NaN);
  };
};

describe('The quality of the Console', () => {
  let world: World;
  let browser: ConsoleBrowser;
  let tenant: TestTenant;

  before(async function () {
    this.timeout(60_000);
    if (noBrowser() !== undefined) return this.skip();
    world = await sharedWorld();
    tenant = await world.tenant();
    browser = await startConsole(world.server.base);
  });
  after(async () => {
    await browser?.close();
    await endWorld();
  });

  /** ms of a slower processor from an empty page until the page is there and asks for nothing more. */
  const costOf = async (address: string, title: string): Promise<number> => {
    const page = await browser.open('/assets/none');
    const used = await meterOf(page);
    await page.goto('about:blank');
    const before = await used();
    await page.goto(`${world.server.base}/console${address}`, { waitUntil: 'networkidle' });
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    const cost = SLOWER * ((await used()) - before);
    await page.context().close();
    return cost;
  };

  it('needs less than a second until it is ready, with a processor four times slower', async () => {
    const token = new URLSearchParams({ token: tenant.admin.token });
    for (const [address, title] of [
      ['', 'Sign in'],
      [`/signed-in#${token.toString()}`, 'Overview'],
    ] as const) {
      let spent = Number.POSITIVE_INFINITY;
      // Neighbours on the processor slow a run down a little, too.
      for (let run = 0; run < 5 && spent >= 1000; run += 1) spent = await costOf(address, title);
      if (SHOWS) console.log(`${title}: ready after ${Math.round(spent)} ms of a slower processor`);
      expect(spent, title).to.be.greaterThan(0).and.lessThan(1000);
    }
  }).timeout(120_000);

  it('scrolls a table of 100,000 rows without a stall', async () => {
    const rows = Array.from({ length: ROWS }, (_, nth) => ({
      ...{ name: `model ${nth}`, generation: 'v1', state: 'active', checkpoint: '0', parked: [] },
    }));
    const page = await browser.open('/platform/projections');
    await page.route('**/super/projections', (route) => route.fulfill({ json: rows }));
    await page.getByRole('tab', { name: 'Platform' }).click();
    await page.getByLabel('E-mail').fill(ROOT.email);
    await page.getByRole('textbox', { name: 'Password' }).fill(ROOT.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('model 3', { exact: true }).waitFor();
    const used = await meterOf(page);
    const before = await used();
    const reached = await page.evaluate(`new Promise((done) => {
      const box = document.querySelector('.table-box');
      let left = ${FRAMES};
      const step = () => {
        box.scrollTop += 30_000;
        left -= 1;
        if (left === 0) done(box.scrollTop); else requestAnimationFrame(step);
      };
      requestAnimationFrame(step);
    })`);
    const each = ((await used()) - before) / FRAMES;
    if (SHOWS) console.log(`${each.toFixed(1)} ms for each frame of scrolling`);
    expect(reached).to.equal(30_000 * FRAMES);
    // Each step shows other rows than the one before; a task of 50 ms is one that a reader notices.
    expect(each).to.be.greaterThan(0).and.lessThan(50);
  }).timeout(120_000);
});
