import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type CuttingProxy, startCuttingProxy } from '../client/cutting-proxy.ts';
import { type ConsoleBrowser, noBrowser, startConsole } from './console.ts';
import { assertion } from './partners.ts';
import { ROOT } from './server.ts';
import { endWorld, sharedWorld, type World } from './world.ts';

/** Markup as a text; no page may make elements of it. */
export const XSS = '"><img src=x onerror=alert(1)><script>alert(1)</script>';

interface Options {
  /** Environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Puts a proxy, which can cut connections, before the server. */
  readonly isCuttable?: boolean;
  /** Runs after the last test, to undo the preparation. */
  readonly end?: () => unknown;
}

/** The server and the browser of a suite, between its first test and its last. */
export class Site {
  #world: World | undefined;
  #browser: ConsoleBrowser | undefined;
  #proxy: CuttingProxy | undefined;
  /** Pages of {@link visit}, by the person that has signed in. */
  readonly #visited = new Map<string, Page>();

  get world(): World {
    if (this.#world === undefined) throw new Error('there is no server before the first test');
    return this.#world;
  }

  get browser(): ConsoleBrowser {
    if (this.#browser === undefined) throw new Error('there is no browser before the first test');
    return this.#browser;
  }

  get proxy(): CuttingProxy {
    if (this.#proxy === undefined) throw new Error('the suite has no proxy');
    return this.#proxy;
  }

  /** {@link ConsoleBrowser.problems}; empty before the first test. */
  get problems(): readonly string[] {
    return this.#browser?.problems ?? [];
  }

  async start({ env, isCuttable = false }: Options): Promise<void> {
    this.#world = await sharedWorld(env);
    const { base, port } = this.#world.server;
    if (isCuttable) this.#proxy = await startCuttingProxy(port, { cuts: 0, bytes: 3000, ms: 200 });
    this.#browser = await startConsole(this.#proxy?.url ?? base);
  }

  async end(): Promise<void> {
    this.forget();
    await this.#browser?.close();
    this.#proxy?.close();
  }

  /**
   * As `browser.openAs`, but on the page of an earlier test with the same token, since a new one takes ten times the
   * processor time. For tests that leave no routes, clock or open dialogs on the page.
   */
  visit(token: string, path: string): Promise<Page> {
    return this.#again(token, path, () => this.browser.openAs(token, path));
  }

  /** As {@link visit}, signed in as the platform's admin. */
  visitPlatform(path: string): Promise<Page> {
    return this.#again('platform', path, () => this.openPlatform(path));
  }

  /** As {@link visit}, signed in as {@link openPartner} does. */
  visitPartner(partner: string, path = '/billing'): Promise<Page> {
    return this.#again(`partner ${partner}`, path, async () => {
      const page = await this.openPartner(partner);
      await goTo(page, path);
      return page;
    });
  }

  /** After a failed test, which may leave a page in any state. */
  forget(): void {
    this.#visited.clear();
  }

  async #again(person: string, path: string, open: () => Promise<Page>): Promise<Page> {
    const page = this.#visited.get(person);
    if (page === undefined) {
      const made = await open();
      this.#visited.set(person, made);
      return made;
    }
    // Leaves the page of the earlier test, which may have the same path.
    await goTo(page, '/none');
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    await goTo(page, path);
    return page;
  }

  /** Signed in as the platform's admin. */
  async openPlatform(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await this.browser.open(path, options);
    await signInPlatform(page);
    return page;
  }

  /** Signed in with rights for billing, as the hosting portal of a partner opens it. */
  async openPartner(
    partner: string,
    own: Record<string, unknown> = {},
    options: BrowserContextOptions = {},
  ): Promise<Page> {
    const token = new URLSearchParams({ assertion: assertion(partner, own) });
    const page = await this.browser.open(`/partner#${token.toString()}`, options);
    await page.getByRole('heading', { level: 1, name: 'Partner billing' }).waitFor();
    return page;
  }
}

export const signInPlatform = async (page: Page): Promise<void> => {
  await page.getByRole('tab', { name: 'Platform' }).click();
  await page.getByLabel('E-mail').fill(ROOT.email);
  await page.getByRole('textbox', { name: 'Password' }).fill(ROOT.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
};

/** Goes to a page without reloading, since a reload would sign out. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(`/console${path}`)})`);
};

/** Waits until the page has read its data and sends no form. */
export const settled = async (page: Page): Promise<void> => {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await page.getByText('Working…').first().waitFor({ state: 'detached' });
};

/**
 * Gives the tests of a suite a server and a browser. The tests are skipped where no browser is installed, and fail on
 * violations of the Content Security Policy and on errors of the page.
 * @param prepare runs before the first test
 */
export const consoleSuite = (
  prepare: (site: Site) => Promise<unknown> = async () => undefined,
  options: Options = {},
): Site => {
  const site = new Site();
  before(async function () {
    this.timeout(120_000);
    if (noBrowser() !== undefined) return this.skip();
    await site.start(options);
    await prepare(site);
  });
  after(async () => {
    await site.end();
    await options.end?.();
    await endWorld();
  });
  afterEach(function () {
    if (this.currentTest?.isFailed() === true) site.forget();
    expect(site.problems).to.deep.equal([]);
  });
  return site;
};
