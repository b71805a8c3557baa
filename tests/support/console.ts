import { execFile } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { chromiumPath } from './chromium.ts';

/** The Console of a running server in Chromium; the test fails on refusals of the policy and on errors of the page. */

export interface ConsoleBrowser {
  /** A new session at a path below `/console`. */
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
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

/** Builds the Console unless the build is newer than the sources. `npm ci` has built it before a first run. */
export const buildConsole = async (): Promise<void> => {
  const sources = ['console/src/**/*.*', 'console/*.{html,js,json}', 'client/src/*.ts'];
  if (newest(['console/dist/index.html']) >= newest(sources)) return;
  await promisify(execFile)(process.execPath, ['console/build.js']);
};

/** @param base of the server */
export const startConsole = async (base: string): Promise<ConsoleBrowser> => {
  await buildConsole();
  const browser: Browser = await chromium.launch({
    executablePath: chromiumPath() ?? '',
    args: ['--no-sandbox'],
  });
  const problems: string[] = [];
  const expected: RegExp[] = [];
  const report = (problem: string): void => {
    if (!expected.some((one) => one.test(problem))) problems.push(problem);
  };
  return {
    problems,
    expect: (problem) => expected.push(problem),
    open: async (path = '', options = {}) => {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      const page = await context.newPage();
      page.on('pageerror', (error) => report(`uncaught: ${error.message}`));
      page.on('console', (line) => {
        // Chromium reports violations of the policy here, too.
        if (line.type() === 'error' || line.type() === 'warning') report(`${line.type()}: ${line.text()}`);
      });
      await page.goto(`${base}/console${path}`);
      return page;
    },
    close: () => browser.close(),
  };
};
