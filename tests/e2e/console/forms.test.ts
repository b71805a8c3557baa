import { expect } from 'chai';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, XSS } from '../../support/console-suite.ts';
import type { TestTenant } from '../../support/world.ts';
import { ENTITIES } from '../workflow/support.ts';

describe('The page of forms', () => {
  let tenant: TestTenant;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
  });

  it('makes a form, publishes, changes, closes and deletes it', async () => {
    const fields = [
      { key: 'name', label: XSS, type: 'text', required: true },
      { key: 'kind', label: 'Kind', type: 'enum', options: ['roof', 'road'] },
      { key: 'extra', label: 'Extra', type: 'json' },
    ];
    const made = await tenant.admin.api.post(ENTITIES, { name: 'damage', label: 'Damage', fields });
    expect(made.status).to.equal(201);
    const page = await site.browser.openAs(tenant.admin.token, '/forms');
    await page.getByText('No form yet').waitFor();
    await page.getByRole('button', { name: 'New form' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill(XSS);
    await dialog.getByLabel('Address').fill('Not A Slug');
    await dialog.getByLabel('Kind is').selectOption('optional');
    await dialog.getByLabel('Question for Kind').fill(XSS);
    expect(await dialog.getByText('Extra').count()).to.equal(0);
    await dialog.getByRole('button', { name: 'Make the draft' }).click();
    await dialog.locator('[name=slug][aria-invalid=true]').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await dialog.getByLabel('Address').fill('report-damage');
    await dialog.getByRole('button', { name: 'Make the draft' }).click();
    await page.getByText('draft', { exact: true }).waitFor();

    const choose = async (action: string): Promise<void> => {
      await page.getByRole('button', { name: /^Actions for/ }).click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    await choose('Publish');
    await dialog.getByRole('button', { name: 'Publish' }).click();
    const link = page.getByRole('link', { name: `/public/forms/${tenant.id}/report-damage` });
    await link.waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const path = `/public/forms/${tenant.id}/report-damage`;
    const shown = z.looseObject({
      fields: z.array(z.looseObject({ label: z.string(), required: z.boolean() })),
    });
    const first = (await site.world.anybody.get(path)).as(shown);
    expect(first.fields.map(({ label, required }) => [label, required])).to.deep.equal([
      [XSS, true],
      [XSS, false],
    ]);

    await choose('Change');
    await dialog.getByLabel('Kind is').selectOption('');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The form was changed.').waitFor();
    expect((await site.world.anybody.get(path)).as(shown).fields).to.have.length(1);
    await choose('Close');
    await dialog.getByRole('button', { name: 'Close the form' }).click();
    await page.getByText('archived', { exact: true }).waitFor();
    expect((await site.world.anybody.get(path)).status).to.equal(404);
    await choose('Delete');
    await dialog.getByRole('button', { name: 'Delete form' }).click();
    await page.getByText('No form yet').waitFor();
  }).timeout(60_000);

  it('keeps the order of the questions when the title is changed', async () => {
    const fields = ['first', 'second', 'third'].map((key) => ({ key, label: key, type: 'text' }));
    const { api } = tenant.admin;
    expect((await api.post(ENTITIES, { name: 'survey', label: 'Survey', fields })).status).to.equal(201);
    const asked = [
      { field_key: 'third', required: true, label: 'Why?' },
      { field_key: 'first', required: false },
    ];
    const body = { slug: 'survey', title: 'Survey', entity_name: 'survey', fields: asked };
    const { id } = (await api.post('/api/v1/tenant/forms', body)).as(z.looseObject({ id: z.string() }), 201);
    const page = await site.browser.openAs(tenant.admin.token, '/forms');
    await page.getByRole('button', { name: 'Actions for Survey' }).click();
    await page.getByRole('menuitem', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Title').fill('Questions');
    await dialog.getByLabel('second is').selectOption('optional');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The form was changed.').waitFor();
    const { json } = await api.get(`/api/v1/tenant/forms/${id}`);
    const shown = z.looseObject({ fields: z.array(z.looseObject({ field_key: z.string() })) }).parse(json);
    expect(shown.fields.map(({ field_key }) => field_key)).to.deep.equal(['third', 'first', 'second']);
  }).timeout(60_000);
});
