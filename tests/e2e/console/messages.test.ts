import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo, XSS } from '../../support/console-suite.ts';
import { eventually } from '../../support/server.ts';
import {
  BASE,
  type Member,
  NOTIFICATIONS,
  say,
  type TestTenant,
  talk,
  token,
  USERS,
} from '../../support/world.ts';

describe('The message pages', () => {
  let tenant: TestTenant;
  let ada: Member;
  let ben: Member;

  const site = consoleSuite(
    async ({ world }) => {
      tenant = await world.tenant();
      ada = await tenant.person('Ada Lund');
      ben = await tenant.person('Ben');
    },
    { isCuttable: true },
  );

  const box = (page: Page) => page.getByRole('textbox', { name: /^Message to/ });
  const messages = (page: Page) => page.getByRole('log', { name: 'Messages' });
  const unreadOf = async (who: Member, id: string): Promise<unknown> => {
    const { json } = await who.api.get(`${BASE}/${id}`);
    return typeof json === 'object' && json !== null && 'unread_count' in json
      ? json.unread_count
      : undefined;
  };

  it('begin a conversation, mention, edit and delete', async () => {
    const page = await site.visit(ada.token, '/messages');
    await page.getByText('No conversation yet').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'New conversation' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Find people').fill('ben');
    await dialog.getByRole('checkbox', { name: /^Ben/ }).check();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { level: 2, name: 'Ben' }).waitFor();

    await box(page).pressSequentially('Hello @be');
    const offered = page.getByRole('option', { name: /^Ben/ });
    await offered.waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await box(page).press('Enter');
    await box(page).pressSequentially('shall we?');
    await box(page).press('Enter');
    await messages(page).getByText('Hello @Ben shall we?').waitFor();
    expect(await box(page).inputValue()).to.equal('');
    const mention = await eventually('the mention of Ben', async () => {
      const { json } = await ben.api.get(NOTIFICATIONS);
      return Array.isArray(json) && json.length === 1 ? json[0] : undefined;
    });
    expect(mention).to.include({ snippet: 'Hello @Ben shall we?' });

    await box(page).fill(XSS);
    await box(page).press('Enter');
    await messages(page).getByText(XSS).waitFor();
    await messages(page).getByRole('button', { name: 'Actions for the message' }).first().click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const edited = page.getByRole('textbox', { name: 'The message' });
    expect(await edited.inputValue()).to.equal('Hello @Ben shall we?');
    await edited.fill('Hello @Ben shall we begin?');
    await edited.press('Enter');
    await messages(page).getByText('Hello @Ben shall we begin? (edited)').waitFor();
    await messages(page).locator('.mention', { hasText: '@Ben' }).waitFor();
    await messages(page).getByRole('button', { name: 'Actions for the message' }).last().click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await dialog.getByRole('button', { name: 'Delete message' }).click();
    await messages(page).getByText('This message was deleted.').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('count unread messages live, and mark those of the open conversation as read', async () => {
    const open = await talk(ada, ben);
    const other = await talk(ben, tenant.admin);
    const page = await site.browser.openAs(ben.token, `/messages/${open}`);
    await eventually('the open one is read', async () => (await unreadOf(ben, open)) === 0);
    await page.getByText('Live', { exact: true }).waitFor();
    await say(tenant.admin, other, 'Look at this');
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByRole('link', { name: /admin.*1 unread/ }).waitFor();
    await say(ada, open, `And you ${token(ben)}?`);
    await messages(page).getByText('And you @Ben?').waitFor();
    await eventually('the new message is read', async () => (await unreadOf(ben, open)) === 0);
    await page.getByRole('link', { name: /^Notifications: \d+ unread/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor();
    await page.getByText('And you @Ben?').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Mark all as read' }).click();
    await page.getByRole('link', { name: 'Notifications', exact: true }).waitFor();
    await page
      .getByRole('link', { name: /in a message/ })
      .first()
      .click();
    await messages(page).getByText('And you @Ben?').waitFor();
  }).timeout(60_000);

  it('show what came while another page was open', async () => {
    const nora = await tenant.person('Nora');
    const otto = await tenant.person('Otto');
    const conversation = await talk(otto, nora);
    const page = await site.browser.openAs(otto.token, '/messages');
    const list = page.getByRole('navigation', { name: 'Conversations' });
    await list.getByRole('link', { name: 'Nora' }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    await goTo(page, '/none');
    await page.getByRole('heading', { level: 1, name: 'No such page' }).waitFor();
    await say(nora, conversation, `Are you there, ${token(otto)}?`);
    await page.getByRole('link', { name: 'Notifications: 1 unread' }).waitFor();
    await goTo(page, '/messages');
    await list.getByRole('link', { name: /Nora.*1 unread/ }).waitFor();
    await page.context().close();
  }).timeout(60_000);

  it('show nothing of a conversation between other people', async () => {
    const foreign = await site.world.tenant();
    const theirs = await talk(foreign.admin, await foreign.person('Foreign'));
    const among = await talk(ben, tenant.admin);
    for (const [id, code] of [
      [theirs, 'not_found'],
      [among, 'not_a_participant'],
    ] as const) {
      const page = await site.visit(ada.token, `/messages/${id}`);
      await page.getByRole('alert').getByText(code).waitFor();
      expect(await page.getByRole('log').count()).to.equal(0);
      expect(await flawsOf(page)).to.deep.equal([]);
    }
  }).timeout(60_000);

  it('show nobody the unsent text of another person', async () => {
    const password = 'a-long-password-1';
    const email = `cleo@${tenant.id.replace('_', '-')}.example`;
    const made = await tenant.admin.api.post(USERS, {
      email,
      display_name: 'Cleo',
      role: 'operator',
      password,
    });
    const { id: cleo } = made.as(z.looseObject({ id: z.string() }), 201);
    const answer = await ada.api.post(BASE, { participant_user_ids: [ben.id, cleo] });
    const { id: both } = answer.as(z.looseObject({ id: z.string() }), 201);
    const page = await site.browser.openAs(ada.token, `/messages/${both}`);
    await box(page).fill('not for Cleo');
    await page.getByRole('link', { name: 'Notifications', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Notifications' }).waitFor();
    await goTo(page, `/messages/${both}`);
    expect(await box(page).inputValue()).to.equal('not for Cleo');
    await page.getByRole('button', { name: /^Account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('E-mail').fill(email);
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByRole('button', { name: /^Account/ })
      .getByText(email)
      .waitFor();
    await goTo(page, `/messages/${both}`);
    expect(await box(page).inputValue()).to.equal('');
  }).timeout(60_000);

  it('mark a message as read that came while an earlier mark was under way', async () => {
    const [carl, dora] = [await tenant.person('Carl'), await tenant.person('Dora')];
    const id = await talk(carl, dora);
    const page = await site.browser.openAs(dora.token, `/messages/${id}`);
    await page.getByText('Live', { exact: true }).waitFor();
    await messages(page).getByText('No messages yet.').waitFor();
    const [marked, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route(
      `**${BASE}/${id}/read`,
      async (route) => {
        const response = await route.fetch();
        marked.resolve();
        await answers.promise;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await say(carl, id, 'one');
    await marked.promise;
    await say(carl, id, 'two');
    await messages(page).getByText('two', { exact: true }).waitFor();
    answers.resolve();
    await eventually('both are read', async () => (await unreadOf(dora, id)) === 0);
  }).timeout(60_000);

  it('read older messages, and show and send each message once when connections are cut', async () => {
    const [carl, dora] = [await tenant.person('Carl'), await tenant.person('Dora')];
    const id = await talk(carl, dora);
    for (let n = 1; n <= 70; n += 1) await say(carl, id, `number ${n}`);
    const page = await site.browser.openAs(dora.token, `/messages/${id}`);
    await messages(page).getByText('number 70', { exact: true }).waitFor();
    expect(await messages(page).getByText('number 20', { exact: true }).count()).to.equal(0);
    await messages(page).getByText('number 21', { exact: true }).scrollIntoViewIfNeeded();
    await messages(page).getByText('number 1', { exact: true }).waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    site.browser.expect(/net::ERR|WebSocket connection|Failed to load resource/);
    const before = site.proxy.cuts;
    site.proxy.cut(6);
    await box(page).fill('sent through the cuts');
    await box(page).press('Enter');
    for (let n = 71; n <= 90; n += 1) await say(carl, id, `number ${n}`);
    await eventually('cuts', () => site.proxy.cuts >= before + 6, 30_000);
    for (let n = 1; n <= 90; n += 1) await messages(page).getByText(`number ${n}`, { exact: true }).waitFor();
    await messages(page).getByText('sent through the cuts').waitFor();
    const texts = await messages(page).locator('.message-body').allInnerTexts();
    expect(texts.filter((text) => text.startsWith('number'))).to.deep.equal(
      Array.from({ length: 90 }, (_, index) => `number ${index + 1}`),
    );
    expect(texts.filter((text) => text === 'sent through the cuts')).to.have.length(1);
  }).timeout(60_000);
});
