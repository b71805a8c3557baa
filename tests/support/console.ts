import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { z } from 'zod';
import { chromiumPath, launchChromium } from './chromium.ts';

/** The Console of a running server in Chromium; the test fails on refusals of the policy and on errors of the page. */

export interface ConsoleBrowser {
  /** A new session at a path below `/console`, not signed in. After the test the page may serve another one. */
  open(path?: string): Promise<Page>;
  /**
   * As {@link open}, for a test whose changes outlast a load: init scripts, the clock, routed sockets, measurements.
   * @param prepare the page before it loads
   */
  openOwn(path?: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page>;
  /** Signed in with this token of a tenant's person, as after single sign-on. */
  openAs(token: string, path: string): Promise<Page>;
  /** Leaves a page as it is after the present test, unless that fails. */
  keep(page: Page): void;
  /** Ends the use of a page before the end of the test. */
  giveBack(page: Page): Promise<void>;
  /** Takes back the pages of a test. Those of a failed one are closed. */
  release(hasFailed: boolean): Promise<void>;
  /** Violations of the policy, uncaught errors and lines of `console.error` of all pages so far. */
  readonly problems: readonly string[];
  /** Errors that the test causes itself are no problems. */
  expect(problem: RegExp): void;
  close(): Promise<void>;
}

/** Why tests in a browser are skipped; undefined where there is one. */
export const noBrowser = (): string | undefined =>
  chromiumPath() === undefined ? 'no Chromium is installed' : undefined;

const newest = (patterns: readonly string[]): number =>
  Math.max(0, ...patterns.flatMap((pattern) => globSync(pattern).map((file) => statSync(file).mtimeMs)));

/** Chromium logs each refused request; refusals of the API are the page's to show. */
const isRefusal = (text: string, url: string): boolean =>
  /the server responded with a status of 4\d\d/.test(text) && !new URL(url).pathname.startsWith('/console');

/** Builds the Console unless the build is newer than the sources. `npm ci` has built it before a first run. */
export const buildConsole = async (): Promise<void> => {
  const sources = ['console/src/**/*.*', 'console/*.{html,js,json}', 'client/src/*.ts'];
  if (newest(['console/dist/index.html']) >= newest(sources)) return;
  await promisify(execFile)(process.execPath, ['console/build.js']);
};

/** Chromium of this process, which ends with it, and a page that no test uses: a new session takes half a second of CPU. */
const shared: { browser?: Browser; idle?: Page | undefined } = {};

const sharedBrowser = async (): Promise<Browser> => {
  if (shared.browser?.isConnected() !== true) shared.browser = await launchChromium(chromiumPath() ?? '');
  return shared.browser;
};

/** The sign-in reads from the storage to which page it leads. */
const RETURN = `{
  const to = new URLSearchParams(location.hash.slice(1)).get('return');
  if (to !== null) sessionStorage.setItem('console-return-to', to);
}`;

/** Problems of a page belong to the suite that has opened it last. */
const reports = new WeakMap<Page, (problem: string) => void>();

const newPage = async (): Promise<Page> => {
  const context = await (await sharedBrowser()).newContext({ reducedMotion: 'reduce' });
  await context.addInitScript(RETURN);
  const page = await context.newPage();
  page.on('pageerror', (error) => reports.get(page)?.(`uncaught: ${error.message}`));
  page.on('console', (line) => {
    if (isRefusal(line.text(), line.location().url)) return;
    // Chromium reports violations of the policy here, too.
    if (line.type() === 'error' || line.type() === 'warning')
      reports.get(page)?.(`${line.type()}: ${line.text()}`);
  });
  return page;
};

/** Removes what outlasts the next load, which removes the rest. */
const reset = async (page: Page): Promise<void> => {
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  await page.context().clearCookies();
  const others = page.context().pages();
  await Promise.all(others.map((other) => (other === page ? undefined : other.close())));
};

/** @param base of the server */
export const startConsole = async (base: string): Promise<ConsoleBrowser> => {
  await buildConsole();
  const problems: string[] = [];
  const expected: RegExp[] = [];
  const report = (problem: string): void => {
    if (!expected.some((one) => one.test(problem))) problems.push(problem);
  };
  const used = new Set<Page>();
  const [own, kept] = [new Set<Page>(), new Set<Page>()];
  const use = async (page: Page, path: string): Promise<Page> => {
    used.add(page);
    reports.set(page, report);
    await page.goto(`${base}/console${path}`);
    return page;
  };
  const take = (): Page | Promise<Page> => {
    const { idle } = shared;
    shared.idle = undefined;
    return idle?.isClosed() === false ? idle : newPage();
  };
  const giveBack = async (page: Page, isUnfit = false): Promise<void> => {
    used.delete(page);
    kept.delete(page);
    if (page.isClosed()) return;
    if (isUnfit || own.has(page) || shared.idle !== undefined) return page.context().close();
    shared.idle = page;
    await reset(page);
  };
  return {
    problems,
    expect: (problem) => expected.push(problem),
    open: async (path = '') => use(await take(), path),
    openOwn: async (path = '', prepare = async () => undefined) => {
      const page = await newPage();
      own.add(page);
      await prepare(page);
      return use(page, path);
    },
    openAs: async (token, path) => {
      const fragment = new URLSearchParams({ token, return: `/console${path}` });
      return use(await take(), `/signed-in#${fragment}`);
    },
    keep: (page) => kept.add(page),
    giveBack: (page) => giveBack(page),
    release: async (hasFailed) => {
      for (const page of used) if (hasFailed || !kept.has(page)) await giveBack(page, hasFailed);
    },
    close: async () => {
      for (const page of used) await giveBack(page);
    },
  };
};

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const axeResult = z.object({
  violations: z.array(
    z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })) }),
  ),
});

/** Styles follow a change of the theme or the width a frame later. */
const FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

const violationsOf = async (page: Page): Promise<string[]> => {
  await page.evaluate(FRAMES);
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE);
  const { violations } = axeResult.parse(
    await page.evaluate(
      'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => ({ violations }))',
    ),
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary.replaceAll('\n', ' ')}`,
    ),
  );
};

/**
 * Finds violations of accessibility rules on the present page, in the light theme and in the dark one at 320 px, and
 * content that does not fit into that width.
 * @returns sentences; empty when it is in order
 */
export const flawsOf = async (page: Page): Promise<readonly string[]> => {
  const flaws: string[] = [];
  const size = page.viewportSize();
  await page.emulateMedia({ colorScheme: 'light' });
  flaws.push(...(await violationsOf(page)).map((violation) => `light: ${violation}`));
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.setViewportSize({ width: 320, height: 640 });
  const over = z
    .number()
    .parse(
      await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
    );
  if (over > 0) flaws.push(`the page is ${over} px wider than 320 px`);
  flaws.push(...(await violationsOf(page)).map((violation) => `dark, 320 px: ${violation}`));
  await page.emulateMedia({ colorScheme: 'light' });
  if (size !== null) await page.setViewportSize(size);
  return flaws;
};
