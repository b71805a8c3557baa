import { existsSync, globSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { consoleRoutes } from '../../../api/pages/console.ts';
import { buildConsole, type ConsoleBrowser, noBrowser, startConsole } from '../../support/console.ts';
import { endWorld, sharedWorld, type World } from '../../support/world.ts';

let world: World;

before(async function () {
  this.timeout(60_000);
  await buildConsole();
  world = await sharedWorld();
});
after(endWorld);

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** Gets a body as it was sent; `fetch` would decompress it. */
const raw = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  new Promise((resolve, reject) => {
    get(`${world.server.base}${path}`, { headers }, (answer) => {
      buffer(answer).then((body) => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body });
      }, reject);
    }).on('error', reject);
  });

const scriptOf = (page: Buffer): string => /src="([^"]+\.js)"/.exec(page.toString())?.[1] ?? '';

describe('The Console as it is served', () => {
  it('is one page for every path below /console, with a strict content security policy', async () => {
    const page = await raw('/console');
    expect(page.status).to.equal(200);
    expect(page.headers['content-type']).to.match(/^text\/html/);
    expect(page.headers['cache-control']).to.equal('no-cache');
    const policy = page.headers['content-security-policy'];
    expect(policy).to.contain("default-src 'none'").and.contain("script-src 'self';");
    expect(policy).to.contain("style-src 'self';").and.not.contain('unsafe');
    expect(page.body.toString()).not.to.match(/https?:|<style|<script(?![^>]* src=)/);
    for (const path of ['/console/overview', '/console/a/b/c/d/e?x=1']) {
      expect((await raw(path)).body.equals(page.body), path).to.equal(true);
    }
    const slash = await raw('/console/');
    expect([slash.status, slash.headers.location]).to.deep.equal([302, '../console']);
  });

  it('serves its files compressed and cacheable for ever, and no other files', async () => {
    const path = scriptOf((await raw('/console')).body);
    const plain = await raw(path);
    expect(plain.headers['cache-control']).to.contain('immutable');
    expect([plain.headers['content-encoding'], plain.headers.vary]).to.deep.equal([
      undefined,
      'Accept-Encoding',
    ]);
    const brotli = await raw(path, { 'accept-encoding': 'gzip, deflate, br' });
    expect(brotli.headers['content-encoding']).to.equal('br');
    expect(brotliDecompressSync(brotli.body).equals(plain.body)).to.equal(true);
    const gzip = await raw(path, { 'accept-encoding': 'gzip, br;q=0' });
    expect(gzip.headers['content-encoding']).to.equal('gzip');
    expect(gunzipSync(gzip.body).equals(plain.body)).to.equal(true);
    for (const other of ['index.html', '..%2Findex.html', '%2e%2e%2fpackage.json', 'no.js', 'x.json']) {
      const answer = await raw(`/console/assets/${other}`);
      expect([answer.status, JSON.parse(answer.body.toString()).error], other).to.deep.equal([
        404,
        'not_found',
      ]);
    }
  });

  it('answers 404 with the reason when it is not built', async () => {
    const [page] = consoleRoutes('no-such-folder');
    const request = { headers: {} } as unknown as never;
    const refused = await page?.handle(request).catch((error: unknown) => error);
    expect(refused).to.have.property('code', 'not_found');
    expect(refused).to.have.property('message').that.contains('npm run console:build');
  });

  it('is built with the licences of its dependencies, and without source maps', () => {
    expect(existsSync('console/dist/assets/licences.md')).to.equal(true);
    expect(globSync('console/dist/**/*.map')).to.deep.equal([]);
  });
});

describe('The Console in Chromium', () => {
  let browser: ConsoleBrowser;

  before(async function () {
    this.timeout(60_000);
    // Skipped where no Chromium is installed.
    if (noBrowser() !== undefined) return this.skip();
    browser = await startConsole(world.server.base);
  });
  after(() => browser?.close());

  it('starts under its content security policy', async () => {
    const page = await browser.open();
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(browser.problems).to.deep.equal([]);
  });

  it('reports a violation of its content security policy', async () => {
    const page = await browser.open();
    await page.evaluate(
      'document.head.append(Object.assign(document.createElement("style"), { textContent: "a {}" }))',
    );
    const scripted = page.evaluate('document.body.innerHTML = "<b>markup</b>"');
    expect(await scripted.catch((error: unknown) => String(error))).to.contain('TrustedHTML');
    expect(browser.problems.join()).to.contain('Content Security Policy');
  });
});
