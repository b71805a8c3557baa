import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Chromium, where it is installed, with pages of an origin of their own. */

/** The headless shell comes first: its pages are the same, and take less processor time. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

export const chromiumPath = (): string | undefined => PLACES.find((path) => existsSync(path));

/** Features that Playwright disables in Chromium; our `--disable-features` replaces its list. */
const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
];
/**
 * Menus of the address bar, not visible in tests: preparing them takes most of the processor time of a new page. The
 * headless shell has none.
 */
const MENUS = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'];

/** @param path the browser's program */
export const launchChromium = (path: string, ...args: readonly string[]): Promise<Browser> =>
  chromium.launch({
    executablePath: path,
    args: ['--no-sandbox', `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...MENUS].join(',')}`, ...args],
  });

export interface TestPages {
  /** Origin of the pages; not the product's. */
  readonly origin: string;
  /** A blank page of {@link origin}. */
  newPage(): Promise<Page>;
  end(): Promise<void>;
}

/** @param path the browser's program @param html the text of every page */
export const startPages = async (
  path: string,
  html = '<!doctype html><title>A page</title>',
): Promise<TestPages> => {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `http://localhost:${port}`;
  const browser = await launchChromium(path, '--host-resolver-rules=MAP localhost 127.0.0.1');
  return {
    origin,
    newPage: async () => {
      const page = await browser.newPage();
      await page.goto(`${origin}/`);
      return page;
    },
    end: async () => {
      await browser.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
