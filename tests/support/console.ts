import { execFile } from 'node:child_process';
import { globSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { z } from 'zod';
import { chromiumPath, launchChromium } from './chromium.ts';

/** The Console of a running server in Chromium, with the problems of its pages. */

export interface ConsoleBrowser {
  /** A new session at a path below `/console`, not signed in. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  /** Signed in with this token of a tenant's person, as after single sign-on. */
  openAs(token: string, path: string, options?: BrowserContextOptions): Promise<Page>;
  /** Of all pages so far: violations of the Content Security Policy, uncaught errors, logged errors and warnings. */
  readonly problems: readonly string[];
  /** Ignores a problem that the test itself causes. */
  expect(problem: RegExp): void;
  /** Paths of all requests of a page so far. */
  pathsOf(page: Page): ReadonlySet<string>;
  /** Ends the sessions. */
  close(): Promise<void>;
}

/** Why tests in a browser are skipped; undefined where a browser is installed. */
export const noBrowser = (): string | undefined =>
  chromiumPath() === undefined ? 'no Chromium is installed' : undefined;

const newest = (patterns: readonly string[]): number =>
  Math.max(0, ...patterns.flatMap((pattern) => globSync(pattern).map((file) => statSync(file).mtimeMs)));

/** Chromium logs each refused request. Refusals of the API are no problems, since the page shows them. */
const isRefusal = (text: string, url: string): boolean =>
  /the server responded with a status of 4\d\d/.test(text) && !new URL(url).pathname.startsWith('/console');

/** Builds the Console unless the build is newer than the sources. `npm ci` has built it before a first run. */
export const buildConsole = async (): Promise<void> => {
  const sources = ['console/src/**/*.*', 'console/*.{html,js,json}', 'client/src/*.ts'];
  if (newest(['console/dist/index.html']) >= newest(sources)) return;
  await promisify(execFile)(process.execPath, ['console/build.js']);
};

/** The browser of this process; Playwright ends it with the process. Each session has a context of its own. */
let started: Promise<Browser> | undefined;

/** @param base the server's address */
export const startConsole = async (base: string): Promise<ConsoleBrowser> => {
  await buildConsole();
  started ??= launchChromium(chromiumPath() ?? '');
  const browser = await started;
  const contexts: BrowserContext[] = [];
  const paths = new WeakMap<Page, ReadonlySet<string>>();
  const problems: string[] = [];
  const expected: RegExp[] = [];
  const report = (problem: string): void => {
    if (!expected.some((one) => one.test(problem))) problems.push(problem);
  };
  const newPage = async (options: BrowserContextOptions): Promise<Page> => {
    // Pages may write to the clipboard, which the whole browser allows by itself and the headless shell does not.
    const permissions = ['clipboard-write'];
    const context = await browser.newContext({ reducedMotion: 'reduce', permissions, ...options });
    contexts.push(context);
    const page = await context.newPage();
    const read = new Set<string>();
    paths.set(page, read);
    page.on('request', (request) => read.add(new URL(request.url()).pathname));
    page.on('pageerror', (error) => report(`uncaught: ${error.message}`));
    page.on('console', (line) => {
      if (isRefusal(line.text(), line.location().url)) return;
      // Chromium reports violations of the Content Security Policy here, too.
      if (line.type() === 'error' || line.type() === 'warning') report(`${line.type()}: ${line.text()}`);
    });
    return page;
  };
  return {
    problems,
    expect: (problem) => expected.push(problem),
    pathsOf: (page) => paths.get(page) ?? new Set(),
    open: async (path = '', options = {}) => {
      const page = await newPage(options);
      await page.goto(`${base}/console${path}`);
      return page;
    },
    openAs: async (token, path, options = {}) => {
      const page = await newPage(options);
      const returnTo = JSON.stringify(`/console${path}`);
      await page.addInitScript(`sessionStorage.setItem('console-return-to', ${returnTo})`);
      await page.goto(`${base}/console/signed-in#${new URLSearchParams({ token }).toString()}`);
      return page;
    },
    close: async () => {
      await Promise.all(contexts.splice(0).map((context) => context.close()));
    },
  };
};

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * Rules whose result depends on colours, sizes or overflow. The others depend on the visible elements, and these are
 * the same in both themes and at both widths, apart from the sidebar, the top bar and a list beside an open item.
 */
const RULES_OF_STYLES = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/** Gives texts, since the whole result is large. One rule reads the stylesheets: only when there are new ones. */
const runOf = (rules?: readonly string[]): string => `{
  const sheets = document.styleSheets.length;
  const preload = ${rules === undefined} && globalThis.checkedSheets !== sheets;
  if (preload) globalThis.checkedSheets = sheets;
  axe.run(document, {
    ...${JSON.stringify({ resultTypes: ['violations'], selectors: false, ...(rules && { runOnly: rules }) })},
    preload,
  }).then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) =>
    id + ': ' + html.slice(0, 200) + ' ' + failureSummary.replaceAll('\\n', ' '))));
}`;

/** Styles follow a change of the theme or the width a frame later. */
const FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))';

const violationsOf = async (page: Page, rules?: readonly string[]): Promise<string[]> => {
  await page.evaluate(FRAMES);
  return z.array(z.string()).parse(await page.evaluate(runOf(rules)));
};

/** @returns whether the rules were loaded now, for the first check of the page */
const loadRules = async (page: Page): Promise<boolean> => {
  if ((await page.evaluate('globalThis.axe === undefined')) === false) return false;
  await page.evaluate(AXE);
  return true;
};

/**
 * Finds violations of accessibility rules on the present page, in the light theme and in the dark one at 320 px, and
 * content that does not fit into that width. Later checks of the same page take only {@link RULES_OF_STYLES} in the
 * light theme, where the first one has checked the shell.
 * @returns a sentence for each flaw
 */
export const flawsOf = async (page: Page): Promise<readonly string[]> => {
  const flaws: string[] = [];
  const size = page.viewportSize();
  await page.emulateMedia({ colorScheme: 'light' });
  const rules = (await loadRules(page)) ? undefined : RULES_OF_STYLES;
  flaws.push(...(await violationsOf(page, rules)).map((violation) => `light: ${violation}`));
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
