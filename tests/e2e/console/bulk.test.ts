import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, XSS } from '../../support/console-suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import type { Member, TestTenant } from '../../support/world.ts';
import { defineEntity, ENTITIES } from '../workflow/support.ts';

const withId = z.looseObject({ id: z.string() });

const FIELDS = [
  { key: 'title', label: XSS, type: 'text' },
  { key: 'weight', label: 'Weight', type: 'integer' },
  { key: 'price', label: 'Price', type: 'decimal' },
  { key: 'kind', label: 'Kind', type: 'enum', options: ['box', 'bag'] },
  { key: 'fragile', label: 'Fragile', type: 'boolean' },
  { key: 'due', label: 'Due', type: 'date' },
  { key: 'seen', label: 'Seen', type: 'datetime' },
  { key: 'note', label: 'Note', type: 'long_text' },
  { key: 'extra', label: 'Extra', type: 'json' },
];

const FLOW = {
  name: 'parcel_flow',
  initial: 'draft',
  states: [
    { key: 'draft', label: 'Draft' },
    { key: 'sent', label: 'Sent', final: true },
  ],
  transitions: [{ event_name: 'send', from: 'draft', to: 'sent', guard: 'record.weight < 5' }],
};

const heading = (page: Page, name: string | RegExp): Promise<void> =>
  page.getByRole('heading', { level: 1, name }).waitFor();

describe('The bulk pages', () => {
  let tenant: TestTenant;
  let admin: Member;
  const ids: string[] = [];

  const addRecord = async (values: object): Promise<string> =>
    (await admin.api.post(`${ENTITIES}/parcel/records`, { values })).as(withId, 201).id;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
    ({ admin } = tenant);
    (await admin.api.post('/api/v1/tenant/workflows', FLOW)).as(z.looseObject({}), 201);
    (await admin.api.post('/api/v1/tenant/workflows/parcel_flow/publish')).as(z.looseObject({}));
    const entity = { name: 'parcel', label: 'Parcel', fields: FIELDS, workflow: 'parcel_flow' };
    (await admin.api.post(ENTITIES, entity)).as(z.looseObject({}), 201);
    for (let weight = 1; weight <= 6; weight += 1) ids.push(await addRecord({ title: XSS, weight }));
  });

  it('edit fields by their types, with a preview, a confirmation, a commit and its counts', async () => {
    const page = await site.visit(admin.token, '/bulk');
    await page.getByText('No bulk operation yet').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('link', { name: 'New operation' }).click();
    await heading(page, 'New bulk operation');
    await page.getByRole('combobox', { name: 'Filter' }).fill('weight >=');
    await page.getByRole('combobox', { name: 'Field' }).selectOption('kind');
    await page.getByRole('combobox', { name: 'New value' }).selectOption('bag');
    await page.getByRole('button', { name: 'Another field' }).click();
    await page.getByRole('combobox', { name: 'Field' }).nth(1).selectOption('title');
    await page.getByRole('textbox', { name: 'New value' }).fill(`${XSS}!`);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('alert').first().waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const filter = page.getByRole('combobox', { name: 'Filter' });
    await filter.fill('wei');
    await page.getByRole('option', { name: /^weight/ }).click();
    expect((await filter.inputValue()).trim()).to.equal('weight');
    await filter.fill('weight >= 5');
    await page.getByRole('button', { name: 'Preview' }).click();
    await heading(page, 'Edit parcel');
    await page.getByText('A preview: nothing is changed yet.').waitFor();
    await page
      .getByRole('cell', { name: `${XSS}!` })
      .first()
      .waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Commit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit 2 records?' });
    await dialog.getByText('It cannot be stopped once it has started.').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Edit 2 records' }).click();
    await page.getByText('It is done: 2 records of 2 were changed.').waitFor();
    await page.locator('dd', { hasText: admin.name }).first().waitFor();
    await page.getByRole('link', { name: 'Bulk operations' }).first().click();
    await page.getByRole('gridcell', { name: '2 changed' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('send each type of value as the API takes it', async () => {
    const page = await site.visit(admin.token, '/bulk/new?entity=parcel&filter=weight+%3D%3D+1');
    const values = [
      ['weight', '7'],
      ['price', '12.50'],
      ['kind', 'box'],
      ['fragile', 'true'],
      ['due', '2026-12-24'],
      ['seen', '2026-12-24T10:00'],
      ['note', 'Two\nlines'],
      ['extra', '{"a":[1]}'],
    ] as const;
    for (const [nth, [field, value]] of values.entries()) {
      if (nth > 0) await page.getByRole('button', { name: 'Another field' }).click();
      const change = page.getByRole('group', { name: `Change ${nth + 1}` });
      await change.getByLabel('Field').selectOption(field);
      const control = change.getByLabel('New value');
      if (field === 'kind' || field === 'fragile') await control.selectOption(value);
      else await control.fill(value);
    }
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Commit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Edit 1 record' }).click();
    await page.getByText('It is done: 1 record of 1 were changed.').waitFor();
    const record = await admin.api.get(`${ENTITIES}/parcel/records/${ids[0]}`);
    expect(record.as(z.looseObject({ values: z.looseObject({}) })).values).to.deep.include({
      ...{ weight: 7, price: '12.50', kind: 'box', fragile: true, due: '2026-12-24' },
      ...{ note: 'Two\nlines', extra: { a: [1] } },
    });
  }).timeout(60_000);

  it('move pasted ids, and show refusals by code and as a file', async () => {
    const unknown = '01890000-0000-7000-8000-000000000000';
    const page = await site.visit(admin.token, '/bulk/new');
    await page.getByLabel('A list of ids').check();
    await page
      .getByRole('textbox', { name: 'Ids' })
      .fill(`${ids[1]}, ${ids[2]};${ids[4]}\n${ids[5]} ${unknown} ${ids[1]}`);
    await page.getByLabel('Move by a transition').check();
    await page.getByRole('option', { name: 'send (from draft to sent)' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Preview' }).click();
    await heading(page, 'Move parcel by send');
    const codes = page.getByRole('list', { name: 'Errors by code' });
    await codes.getByText('guard_failed').waitFor();
    expect(await codes.textContent()).to.match(/guard_failed\s*2[\s\S]*record_not_found\s*1/);
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Commit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Move 2 records' }).click();
    await page.getByText('It is done: 2 records of 5 were changed.').waitFor();
    await page.getByRole('heading', { name: 'Refused', exact: true }).waitFor();
    // The page reads the errors of the commit from errors.csv.
    await page.getByRole('gridcell', { name: 'guard_failed' }).first().waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download errors.csv' }).click(),
    ]);
    const text = await readFile(await file.path(), 'utf8');
    expect(text.split('\r\n')[0]).to.equal('record_id,current_state,code,message');
    expect(text).to.contain(unknown).and.contain('guard_failed');
  }).timeout(60_000);

  it('name all transitions of an event', async () => {
    const states = ['a', 'b', 'c'].map((key) => ({ key, label: key }));
    const transitions = [
      { event_name: 'go', from: 'a', to: 'b' },
      { event_name: 'go', from: 'b', to: 'c' },
    ];
    await defineEntity(tenant, 'walk', { definition: { initial: 'a', states, transitions } });
    const page = await site.browser.openAs(admin.token, '/bulk/new?entity=walk');
    await page.getByLabel('Move by a transition').check();
    const text = 'go (from a to b; from b to c)';
    await page.getByRole('option', { name: text }).waitFor({ state: 'attached' });
  }).timeout(60_000);

  it('delete only after the entity’s name was typed, and cancel', async () => {
    const gone = await addRecord({ title: 'gone', weight: 90 });
    const page = await site.visit(admin.token, '/bulk/new?entity=parcel&filter=weight+%3E+80');
    await page.getByLabel('Delete').check();
    await page.getByRole('button', { name: 'Preview' }).click();
    await heading(page, 'Delete parcel');
    expect(await flawsOf(page)).to.deep.equal([]);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.getByRole('button', { name: 'Cancel the operation' }).click();
    await page.getByText('It was cancelled; nothing was changed.').waitFor();
    await page.goBack();
    await page.getByLabel('Delete').check();
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('button', { name: 'Commit' }).click();
    const action = dialog.getByRole('button', { name: 'Delete 1 record' });
    expect(await action.isDisabled()).to.equal(true);
    await dialog.getByRole('textbox').fill('parcel');
    await action.click();
    await page.getByText('It is done: 1 record of 1 were changed.').waitFor();
    expect((await admin.api.get(`${ENTITIES}/parcel/records/${gone}`)).status).to.equal(404);
  }).timeout(60_000);

  it('ask for a sign-in when the token expires during 1,200 records, which the server completes', async () => {
    const { admin: own } = await site.world.tenant();
    const fields = [{ key: 'n', label: 'Number', type: 'integer' }];
    (await own.api.post(ENTITIES, { name: 'many', label: 'Many', fields })).as(z.looseObject({}), 201);
    for (let nth = 0; nth < 1200; nth += 50) {
      const each = Array.from({ length: 50 }, (_, at) =>
        own.api.post(`${ENTITIES}/many/records`, { values: { n: nth + at } }),
      );
      await Promise.all(each);
    }
    const page = await site.browser.openAs(tenantToken(own, { exp: now() + 8 }), '/bulk/new?entity=many');
    await page.getByRole('combobox', { name: 'Field' }).selectOption('n');
    await page.getByRole('textbox', { name: 'New value' }).fill('-1');
    await page.getByRole('button', { name: 'Preview' }).click();
    await heading(page, 'Edit many');
    await page.getByRole('button', { name: 'Commit' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Edit 1,200 records' }).click();
    site.browser.expect(/WebSocket connection/);
    const ended = page.getByRole('dialog', { name: 'Your session has ended' });
    await ended.getByRole('button', { name: 'Sign in at the identity provider' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    // The server continues the commit meanwhile.
    const again = await site.browser.openAs(own.token, '/bulk');
    await again.getByRole('gridcell', { name: '1,200 changed' }).waitFor();
  }).timeout(60_000);

  it('show a commit under way as a bar that moves, and its counts at the end', async () => {
    const { admin: own } = await site.world.tenant();
    const fields = [{ key: 'n', label: 'Number', type: 'integer' }];
    (await own.api.post(ENTITIES, { name: 'steps', label: 'Steps', fields })).as(z.looseObject({}), 201);
    const row = (await own.api.post(`${ENTITIES}/steps/records`, { values: { n: 1 } })).as(withId, 201);
    const wanted = {
      entity_name: 'steps',
      operation: 'edit',
      selection: { kind: 'ids', ids: [row.id] },
      op_params: { kind: 'edit', fields: [{ field_key: 'n', new_value: 2 }] },
    };
    const { id } = (await own.api.post('/api/v1/tenant/bulk-ops/preview', wanted)).as(withId, 201);
    (await own.api.post(`/api/v1/tenant/bulk-ops/sessions/${id}/commit`)).as(withId);
    const page = await site.browser.openAs(own.token, '/bulk');
    // The server has committed already, so the route imitates the stages of a long commit.
    let processed: number | undefined = 300;
    await page.route(`**/bulk-ops/sessions/${id}`, async (route) => {
      const session = z.looseObject({}).parse(await (await route.fetch()).json());
      const { result: _result, ...under } = session;
      const progress = { processed, total: 1200 };
      await route.fulfill({
        json: processed === undefined ? session : { ...under, status: 'committing', progress },
      });
    });
    await page.getByRole('link', { name: 'Edit steps' }).click();
    const bar = page.getByRole('progressbar', { name: 'Records processed' });
    for (const [next, share] of [
      [300, '25'],
      [900, '75'],
    ] as const) {
      processed = next;
      await page.getByText(`${next} of 1,200 records`).waitFor();
      expect(await bar.getAttribute('aria-valuenow')).to.equal(share);
    }
    expect(await flawsOf(page)).to.deep.equal([]);
    processed = undefined;
    await page.getByText('It is done: 1 record of 1 were changed.').waitFor();
    expect(await bar.count()).to.equal(0);
  }).timeout(60_000);
});
