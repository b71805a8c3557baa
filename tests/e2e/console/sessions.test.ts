import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { consoleSuite } from '../../support/console-suite.ts';
import { eventually } from '../../support/server.ts';
import { now } from '../../support/tokens.ts';
import { BASE, type Member, type TestTenant, talk } from '../../support/world.ts';
import { entitledTenant, MODEL } from '../assistant/support.ts';
import { ENTITIES } from '../workflow/support.ts';

const PASSWORD = 'a-long-password-1';
const TWO_DAYS = 2 * 86_400_000;

interface Act {
  readonly name: string;
  readonly at: string;
  readonly type: (page: Page, text: string) => Promise<void>;
  readonly send: (page: Page) => Promise<void>;
  /** Waits until the page shows the result. */
  readonly done: (page: Page, text: string) => Promise<void>;
  /** How often the server has carried out the act for this text and person. */
  readonly times: (text: string, userId: string) => Promise<number>;
}

const items = z.array(z.looseObject({}));

describe('Requests of the Console', () => {
  let tenant: TestTenant;
  let conversation = '';
  let admin: Member;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await entitledTenant(world);
      ({ admin } = tenant);
      const fields = [{ key: 'title', label: 'Title', type: 'text' }];
      const made = await admin.api.post(ENTITIES, { name: 'thing', label: 'Thing', fields });
      expect(made.status).to.equal(201);
      await admin.api.post(`${ENTITIES}/thing/records`, { values: { title: 'One' } });
      conversation = await talk(admin, await tenant.person('Ben'));
    },
    { env: MODEL, isCuttable: true },
  );

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const listed = async (path: string): Promise<readonly unknown[]> => (await admin.api.get(path)).as(items);

  const ACTS: readonly Act[] = [
    {
      name: 'A new record',
      at: '/records/thing',
      type: async (page, text) => {
        await page.getByRole('button', { name: 'New record' }).click();
        await page.getByRole('dialog').getByLabel('Title').fill(text);
      },
      send: (page) => page.getByRole('button', { name: 'Make the record' }).click(),
      done: heading,
      times: async (text) => {
        const filter = new URLSearchParams({ filter: `title == ${JSON.stringify(text)}` });
        return (await listed(`${ENTITIES}/thing/records?${filter}`)).length;
      },
    },
    {
      name: 'A preview of a bulk operation',
      at: '/bulk/new?entity=thing',
      type: async (page, text) => {
        await page.getByRole('combobox', { name: 'Field' }).selectOption('title');
        await page.getByRole('textbox', { name: 'New value' }).fill(text);
      },
      send: (page) => page.getByRole('button', { name: 'Preview' }).click(),
      done: async (page, text) => {
        await heading(page, 'Edit thing');
        await page.getByText(`title: ${text}`).waitFor();
      },
      times: async (text) => {
        const sessions = await listed('/api/v1/tenant/bulk-ops/sessions');
        return sessions.filter((one) => JSON.stringify(one).includes(`"new_value":"${text}"`)).length;
      },
    },
    {
      name: 'A message',
      at: '',
      type: (page, text) => page.getByRole('textbox', { name: /^Message to/ }).fill(text),
      send: (page) => page.getByRole('button', { name: 'Send', exact: true }).click(),
      done: (page, text) => page.getByRole('log', { name: 'Messages' }).getByText(text).waitFor(),
      times: async (text) => {
        const messages = await listed(`${BASE}/${conversation}/messages`);
        return messages.filter((one) => JSON.stringify(one).includes(`"${text}"`)).length;
      },
    },
    {
      name: 'A question to the assistant',
      at: '/assistant',
      type: (page, text) => page.getByLabel('Question').fill(text),
      send: (page) => page.getByRole('button', { name: 'Ask', exact: true }).click(),
      done: async (page, text) => {
        const log = page.getByRole('log', { name: 'Conversation' });
        await log.getByText(text, { exact: true }).waitFor();
        await log.locator('.assistant-reply').waitFor();
      },
      times: async (_text, userId) => {
        // The log holds no text of a question, so each is asked by a person of its own.
        const asked = new URLSearchParams({ type: 'AssistantQuestionAsked', actor: userId });
        return (await listed(`/api/v1/tenant/audit/events?${asked}`)).length;
      },
    },
  ];

  let count = 0;
  /** Signs in as a new admin and types. */
  const typed = async ({ at, type }: Act) => {
    count += 1;
    const text = `Typed ${count}`;
    const email = `typist-${count}@${tenant.id.replace('_', '-')}.example`;
    const person = { email, display_name: `Typist ${count}`, role: 'admin', password: PASSWORD };
    const made = (await admin.api.post('/api/v1/tenant/users', person)).as(
      z.looseObject({ id: z.string() }),
      201,
    );
    const opened = at === '' ? `/messages/${await joined(made.id)}` : at;
    const page = await site.browser.open(opened);
    // Replaces the socket, since the server would announce the end of the session before anything is sent.
    await page.routeWebSocket('**/api/v1/ws*', () => {});
    await page.reload();
    await signIn(page, email, PASSWORD);
    await type(page, text);
    return { page, text, email, userId: made.id };
  };
  /** A conversation with a new person. */
  const joined = async (id: string): Promise<string> => {
    const answer = await admin.api.post(BASE, { participant_user_ids: [id] });
    conversation = answer.as(z.looseObject({ id: z.string() }), answer.status).id;
    return conversation;
  };
  const signIn = async (page: Page, email: string, password: string): Promise<void> => {
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const signInAgain = async (page: Page, password: string): Promise<void> => {
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByRole('textbox', { name: 'Password' }).fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
  };

  for (const act of ACTS) {
    it(`${act.name} is sent once when the session ended meanwhile`, async () => {
      const { page, text, email, userId } = await typed(act);
      // Holds reads back, so that only the request under test meets the ended session.
      const again = Promise.withResolvers<void>();
      await page.route('**/api/v1/**', async (route) => {
        if (route.request().method() === 'GET') await again.promise;
        await route.continue();
      });
      const login = await site.world.anybody.post('/auth/login', { email, password: PASSWORD });
      const other = site.world.anybody.with(login.as(z.object({ token: z.string() })).token);
      const signedIn = now();
      // Tokens that were issued in the same second as a change of the password stay valid.
      await eventually('a later second', () => now() > signedIn);
      const changed = { current_password: PASSWORD, new_password: 'another-password-1' };
      expect((await other.post('/api/v1/tenant/me/password', changed)).status).to.be.lessThan(300);
      await act.send(page);
      await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
      again.resolve();
      await signInAgain(page, 'another-password-1');
      await act.done(page, text);
      expect(await act.times(text, userId)).to.equal(1);
      await page.context().close();
    }).timeout(120_000);

    it(`${act.name} is sent once when the token expired meanwhile`, async () => {
      const { page, text, userId } = await typed(act);
      await page.clock.setFixedTime(Date.now() + TWO_DAYS);
      await act.send(page);
      await signInAgain(page, PASSWORD);
      await act.done(page, text);
      expect(await act.times(text, userId)).to.equal(1);
      await page.context().close();
    }).timeout(120_000);

    it(`${act.name} is sent once when connections are cut`, async () => {
      const { page, text, userId } = await typed(act);
      site.browser.expect(/net::ERR|WebSocket connection|Failed to load resource/);
      const before = site.proxy.cuts;
      site.proxy.cut(3);
      await act.send(page);
      await act.done(page, text);
      await eventually('a cut', () => site.proxy.cuts > before, 30_000);
      expect(await act.times(text, userId)).to.equal(1);
      await page.context().close();
    }).timeout(120_000);
  }
});
