import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { createClient } from '../../client/src/index.ts';
import { chromiumPath, launchChromium } from '../support/chromium.ts';
import { cleanUp, eventually, type Server, startServer } from '../support/server.ts';
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';

const CLIENT = join(import.meta.dirname, '../../client');
const CUTS = 40;
const MESSAGES = 60;
const browserPath = chromiumPath();

describe('The example chat', () => {
  let server: Server;
  let proxy: CuttingProxy | undefined;
  let browser: Browser | undefined;

  const demo = { DEMO: '1', PLATFORM_ADMIN_EMAIL: undefined, PLATFORM_ADMIN_PASSWORD: undefined };
  afterEach(async () => {
    await browser?.close();
    proxy?.close();
    await cleanUp();
  });

  const passwordOf = (role: string): string =>
    new RegExp(`demo ${role}\\s+\\S+\\s+(\\S+)`).exec(server.output())?.[1] ?? '';

  it('is served in development only, and compiles', async () => {
    server = await startServer({ env: { NODE_ENV: 'production' } });
    for (const path of ['/examples/chat', '/examples/chat/chat.js']) {
      expect((await fetch(server.base + path)).status, path).to.equal(404);
    }
    const tsc = promisify(execFile)(join(CLIENT, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.example.json'], {
      cwd: CLIENT,
    });
    const { stdout } = await tsc.catch((error: { stdout: string }) => error);
    expect(stdout).to.equal('');
  }).timeout(120_000);

  if (browserPath === undefined) {
    it('works in Chromium with cut connections: skipped, it is not installed', function () {
      this.skip();
    });
    return;
  }

  const signIn = async (page: Page): Promise<void> => {
    await page.fill('[name=email]', 'ben@demo.example');
    await page.fill('[name=password]', passwordOf('operator'));
    await page.click('#sign-in button');
    await page.waitForSelector('#people button');
  };

  it('shows a message that comes while the messages are read', async () => {
    server = await startServer({ env: demo });
    const { base: url } = server;
    const body = { email: 'ada@demo.example', password: passwordOf('admin') };
    const { token, user } = await createClient({ url }).post('/auth/login', { body });
    const ada = createClient({ url, token });
    browser = await launchChromium(browserPath);
    const page = await browser.newPage();
    await page.goto(`${url}/examples/chat`);
    await signIn(page);
    await page.click(`#people button:text("${user.display_name}")`);
    await page.waitForSelector('#say:not([hidden])');
    const people = await ada.get('/api/v1/tenant/users');
    const ben = people.find(({ email }) => email === 'ben@demo.example')?.id ?? '';
    const { id } = await ada.post('/api/v1/tenant/messaging/conversations', {
      body: { participant_user_ids: [ben] },
    });
    const say = (text: string) =>
      ada.post('/api/v1/tenant/messaging/conversations/{id}/messages', {
        params: { path: { id } },
        body: { body: text },
      });
    await say('before');
    await page.waitForSelector('#messages li:text-is("before")');
    await page.route('**/messages?*', async (route) => {
      const response = await route.fetch();
      await say('meanwhile');
      await page.waitForSelector('#messages li:text-is("meanwhile")');
      await route.fulfill({ response });
    });
    const read = page.waitForResponse(/\/read$/);
    await page.click(`#people button:text("${user.display_name}")`);
    await read;
    const shown = await page.$$eval('#messages li', (items) => items.map(({ textContent }) => textContent));
    expect(shown).to.deep.equal(['before', 'meanwhile']);
  }).timeout(60_000);

  it('shows each message once, in order, in Chromium with cut connections', async () => {
    server = await startServer({ env: demo });
    proxy = await startCuttingProxy(server.port, { cuts: 0, bytes: 1500, ms: 150 });
    const { base: url } = server;
    const body = { email: 'ada@demo.example', password: passwordOf('admin') };
    const { token, user } = await createClient({ url }).post('/auth/login', { body });
    const ada = createClient({ url, token });
    browser = await launchChromium(browserPath);
    const page = await browser.newPage();
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (line) => {
      if (/Content Security Policy|TrustedHTML/.test(line.text())) problems.push(line.text());
    });
    await page.goto(`${proxy.url}/examples/chat`);
    await signIn(page);
    await page.click(`#people button:text("${user.display_name}")`);
    await page.waitForSelector('#say:not([hidden])');
    const people = await ada.get('/api/v1/tenant/users');
    const ben = people.find(({ email }) => email === 'ben@demo.example')?.id ?? '';
    const conversation = await ada.post('/api/v1/tenant/messaging/conversations', {
      body: { participant_user_ids: [ben] },
    });
    const path = '/api/v1/tenant/messaging/conversations/{id}/messages';
    const params = { path: { id: conversation.id } };
    const shown = () => page.$$eval('#messages li', (items) => items.map(({ textContent }) => textContent));

    proxy.cut(CUTS);
    const sent: string[] = [];
    for (let nth = 0; nth < MESSAGES; nth += 1) {
      const text = `message ${nth}`;
      await ada.post(path, { params, body: { body: text } });
      sent.push(text);
    }
    await eventually('all cuts', () => proxy?.cuts === CUTS, 60_000);
    await page.waitForSelector(`#messages li:text-is("message ${MESSAGES - 1}")`, { timeout: 60_000 });
    await page.fill('[name=body]', '<b>from Ben</b>');
    await page.click('#say button');
    await eventually('the message of Ben', async () => (await shown()).includes('<b>from Ben</b>'), 30_000);
    expect(await shown()).to.deep.equal([...sent, '<b>from Ben</b>']);
    expect(problems).to.deep.equal([]);
  }).timeout(180_000);
});
