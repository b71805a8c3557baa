import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { consoleSuite, goTo } from '../../support/console-suite.ts';
import type { TestTenant } from '../../support/world.ts';
import { defineEntity, ENTITIES } from '../workflow/support.ts';

const record = z.looseObject({ id: z.string(), values: z.record(z.string(), z.unknown()) });

describe('The forms of records and entities', () => {
  let tenant: TestTenant;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
  });

  const define = async (name: string, fields: readonly object[]): Promise<void> => {
    const answer = await tenant.admin.api.post(ENTITIES, { name, label: name, fields });
    expect(answer.status, answer.text).to.equal(201);
  };
  const make = async (name: string, values: Record<string, unknown>): Promise<string> =>
    (await tenant.admin.api.post(`${ENTITIES}/${name}/records`, { values })).as(record, 201).id;
  const read = async (name: string, id: string) =>
    (await tenant.admin.api.get(`${ENTITIES}/${name}/records/${id}`)).as(record);
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const saved = (page: Page) => page.getByText('The record was saved.').waitFor();

  it('save no field that was not changed: line ends, line breaks, moments of a repeated hour', async () => {
    await define('visit', [
      { key: 'title', label: 'Title', type: 'text' },
      { key: 'place', label: 'Place', type: 'text' },
      { key: 'report', label: 'Report', type: 'long_text' },
      { key: 'at', label: 'At', type: 'datetime' },
    ]);
    // In Berlin, both 00:30 and 01:30 UTC of this day are 02:30.
    const values = { place: 'Hall 3\nGate 2', report: 'one\r\ntwo', at: '2026-10-25T01:30:00.000Z' };
    const id = await make('visit', { ...values, title: 'First' });
    const page = await site.browser.openAs(tenant.admin.token, `/records/visit/${id}`, {
      timezoneId: 'Europe/Berlin',
    });
    await press(page, 'Change');
    await page.getByRole('dialog').getByLabel('Title').fill('Second');
    await press(page, 'Save');
    await saved(page);
    expect((await read('visit', id)).values).to.deep.equal({ ...values, title: 'Second' });
  }).timeout(60_000);

  it('leave a field empty whose default was removed', async () => {
    await define('task', [
      { key: 'title', label: 'Title', type: 'text' },
      { key: 'room', label: 'Room', type: 'text', default: 'Office' },
      { key: 'floor', label: 'Floor', type: 'integer', default: 2 },
    ]);
    const page = await site.visit(tenant.admin.token, '/records/task');
    await press(page, 'New record');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Sweep');
    await dialog.getByLabel('Room').fill('');
    await press(page, 'Make the record');
    await page.getByRole('heading', { level: 1, name: 'Sweep' }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    expect((await read('task', id)).values).to.deep.equal({ title: 'Sweep', floor: 2 });
  }).timeout(60_000);

  it('show every field, also two with the same label', async () => {
    await define('trip', [
      { key: 'out', label: 'Date', type: 'text' },
      { key: 'back', label: 'Date', type: 'text' },
    ]);
    const id = await make('trip', { out: 'on Monday', back: 'on Friday' });
    const page = await site.visit(tenant.admin.token, `/records/trip/${id}`);
    const values = page.locator('.record-columns');
    await values.getByText('on Friday').waitFor();
    await values.getByText('on Monday').waitFor();
  }).timeout(60_000);

  it('keep the workflow of an entity when the list of workflows is not read', async () => {
    await defineEntity(tenant, 'claim');
    const page = await site.browser.openAs(tenant.admin.token, '/records/claim');
    await page.route('**/api/v1/tenant/workflows?*', (route) => route.abort());
    site.browser.expect(/net::ERR_FAILED/);
    await press(page, 'Fields');
    await page.getByRole('dialog').getByLabel('Label', { exact: true }).fill('Claims');
    await press(page, 'Save');
    await page.getByText('Claims was changed.').waitFor();
    const { json } = await tenant.admin.api.get(`${ENTITIES}/claim`);
    expect(json).to.include({ label: 'Claims', workflow: 'claim_flow' });
  }).timeout(60_000);

  it('ask nothing about a deletion whose effects cannot be read', async () => {
    await define('owner', [{ key: 'name', label: 'Name', type: 'text' }]);
    const id = await make('owner', { name: 'Nora' });
    const page = await site.browser.openAs(tenant.admin.token, '/time-travel');
    const broken = { error: 'internal_error', message: 'Something failed.', request_id: 'r-1' };
    const isList = ({ pathname }: URL): boolean => pathname === ENTITIES;
    await page.route(isList, (route) => route.fulfill({ status: 500, json: broken }));
    site.browser.expect(/status of 500/);
    await goTo(page, `/records/owner/${id}`);
    await page.getByRole('heading', { level: 1, name: 'Nora' }).waitFor();
    await press(page, 'Delete');
    await page.getByRole('list', { name: 'Messages' }).getByText('Something failed.').waitFor();
    expect(await page.getByRole('dialog').count()).to.equal(0);
    await page.unroute(isList);
    await press(page, 'Delete');
    await page.getByRole('dialog').getByText('Nothing refers to it.').waitFor();
  }).timeout(60_000);

  it('delete a record that another person has changed, at the second attempt', async () => {
    await define('sheet', [{ key: 'name', label: 'Name', type: 'text' }]);
    const id = await make('sheet', { name: 'mine' });
    const page = await site.visit(tenant.admin.token, `/records/sheet/${id}`);
    await page.getByRole('heading', { level: 1, name: 'mine' }).waitFor();
    const path = `${ENTITIES}/sheet/records/${id}`;
    expect((await tenant.admin.api.patch(path, { values: { name: 'theirs' } })).status).to.equal(200);
    await press(page, 'Delete');
    await press(page, 'Delete record');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('alert').getByText('conflict').waitFor();
    await dialog.getByRole('button', { name: 'Keep it as it is' }).click();
    await page.getByRole('heading', { level: 1, name: 'theirs' }).waitFor();
    await press(page, 'Delete');
    await page.getByRole('dialog', { name: 'Delete theirs?' }).waitFor();
    await press(page, 'Delete record');
    await page.getByText('No record yet').waitFor();
  }).timeout(60_000);

  it('filter by a text with an encoded character', async () => {
    await define('link', [{ key: 'name', label: 'Name', type: 'text' }]);
    for (const name of ['a%20b', 'a b']) await make('link', { name });
    const page = await site.visit(tenant.admin.token, '/records/link');
    const filter = page.getByRole('combobox', { name: 'Filter' });
    await page.getByText('2 records', { exact: true }).waitFor();
    await filter.fill('name == "a%20b"');
    await filter.press('Escape');
    await filter.press('Enter');
    await page.getByText('1 record that match the filter').waitFor();
    await page.getByRole('gridcell', { name: 'a%20b', exact: true }).waitFor();
    expect(await filter.inputValue()).to.equal('name == "a%20b"');
  }).timeout(60_000);

  it('keep a chosen person when the list of people grows', async () => {
    await define('shift', [{ key: 'worker', label: 'Worker', type: 'user' }]);
    const [ada] = [await tenant.person('Ada'), await tenant.person('Ben')];
    const page = await site.browser.openAs(tenant.admin.token, '/records/shift');
    await press(page, 'New record');
    const worker = page.getByRole('dialog').getByLabel('Worker');
    await worker.selectOption(ada.id);
    const cleo = await tenant.person('Cleo');
    // The list of people is no longer fresh when the window gets the focus.
    await page.clock.setFixedTime(Date.now() + 120_000);
    await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
    await worker.locator(`option[value="${cleo.id}"]`).waitFor({ state: 'attached' });
    expect(await worker.inputValue()).to.equal(ada.id);
  }).timeout(60_000);

  it('remove no field of an entity that another person has added meanwhile', async () => {
    const field = (key: string) => ({ key, label: key, type: 'text' });
    await define('route', [field('from')]);
    await make('route', { from: 'Lyon' });
    const page = await site.visit(tenant.admin.token, '/records/route');
    await press(page, 'Fields');
    const dialog = page.getByRole('dialog');
    const label = dialog.getByLabel('Label', { exact: true });
    await label.fill('Routes');
    const path = `${ENTITIES}/route`;
    const change = { fields: [field('from'), field('to')] };
    expect((await tenant.admin.api.patch(path, change)).status).to.equal(200);
    await press(page, 'Save');
    await dialog.getByRole('alert').getByText('Another person has changed the entity.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('columnheader', { name: 'to', exact: true }).waitFor();
    await press(page, 'Fields');
    await label.fill('Routes');
    await press(page, 'Save');
    await page.getByRole('heading', { level: 1, name: 'Routes' }).waitFor();
    const { json } = await tenant.admin.api.get(path);
    const { fields } = z.looseObject({ fields: z.array(z.looseObject({ key: z.string() })) }).parse(json);
    expect(fields.map(({ key }) => key)).to.deep.equal(['from', 'to']);
  }).timeout(60_000);
});
