import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { z } from 'zod';
import { flawsOf } from '../../support/console.ts';
import { consoleSuite, goTo, XSS } from '../../support/console-suite.ts';
import { eventually } from '../../support/server.ts';
import type { TestTenant } from '../../support/world.ts';
import { addRecord, plainEntity } from '../webhooks/support.ts';
import { ENTITIES } from '../workflow/support.ts';

describe('The pages on the log', () => {
  let tenant: TestTenant;

  const site = consoleSuite(async ({ world }) => {
    tenant = await world.tenant();
    await plainEntity(tenant, 'crate');
  });

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { level: 1, name }).waitFor();

  /** Creates a record, and changes its only field once. @returns its id */
  const changedRecord = async (): Promise<string> => {
    const id = await addRecord(tenant.admin, 'crate', XSS);
    const { values } = (await tenant.admin.api.get(`${ENTITIES}/crate/records/${id}`)).as(
      z.looseObject({ values: z.record(z.string(), z.unknown()) }),
    );
    const [field = ''] = Object.keys(values);
    const change = { values: { [field]: 'another text' } };
    const answer = await tenant.admin.api.patch(`${ENTITIES}/crate/records/${id}`, change);
    expect(answer.status).to.equal(200);
    return id;
  };

  it('follow the log live, and lead from an event to its stream, its changes and its causes', async () => {
    const page = await site.visit(tenant.admin.token, '/events');
    await page.getByText('Following').waitFor();
    const id = await changedRecord();
    const stream = `${tenant.id}.record-${id}`;
    const row = page.getByRole('row').filter({ hasText: id }).first();
    await row.waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'Pause' }).click();
    await row.getByRole('link').first().click();
    await heading(page, 'record');
    await page.getByText(stream, { exact: true }).waitFor();
    const differences = page.getByRole('region', { name: 'Differences' });
    await differences.getByText('another text').waitFor();
    await differences.getByText(XSS).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('button', { name: 'The event before' }).click();
    await page.getByText('State after revision 0').waitFor();
    await page.getByRole('tab', { name: 'Whole state' }).click();
    await page.getByText(JSON.stringify(XSS)).first().waitFor();
    await page.getByRole('tab', { name: 'Causes and effects' }).click();
    await page.getByText(/^Events with the correlation/).waitFor();
    await page.getByRole('tab', { name: 'Hash chain' }).click();
    await page.getByRole('link', { name: 'How to verify them' }).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    // The address names the shown revision, so that a reload shows it again.
    expect(new URL(page.url()).searchParams.get('revision')).to.equal('0');
  }).timeout(60_000);

  it('show after a pause the events that were read before it and not yet shown', async () => {
    const page = await site.browser.openAs(tenant.admin.token, '/events');
    await page.getByText('Following').waitFor();
    // Events are shown in animation frames: without frames they are read and not shown.
    await page.evaluate(
      'Object.assign(window, { kept: requestAnimationFrame, requestAnimationFrame: () => 0 })',
    );
    const read = page.waitForResponse(
      async (answer) => answer.url().includes('/audit/events?') && (await answer.text()) !== '[]',
    );
    const id = await changedRecord();
    await read;
    // The next read begins after the page has taken the events.
    await page.waitForRequest(/\/audit\/events\?/);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    const rows = page.getByRole('row').filter({ hasText: id });
    expect(await rows.count()).to.equal(0);
    await page.evaluate('window.requestAnimationFrame = window.kept');
    await page.getByRole('button', { name: 'Follow' }).click();
    await rows.nth(1).waitFor();
    expect(await rows.count()).to.equal(2);
  }).timeout(60_000);

  it('show a record as it was at a moment, and that it did not exist before its creation', async () => {
    const id = await changedRecord();
    const page = await site.visit(tenant.admin.token, '/time-travel');
    await heading(page, 'Time travel');
    expect(await flawsOf(page)).to.deep.equal([]);
    await page.getByRole('textbox', { name: 'Id' }).fill(id);
    await page.getByLabel('Moment').fill('2020-01-01T00:00:00');
    await page.getByRole('button', { name: 'Show it' }).click();
    await page.getByText('At that moment it did not exist yet.').waitFor();
    await page.getByRole('slider').focus();
    await page.keyboard.press('End');
    await page.getByText('State after revision').waitFor();
  }).timeout(60_000);

  it('show a moment beyond the first page of a long stream, and yesterday by a click', async () => {
    const id = await changedRecord();
    const path = `${ENTITIES}/crate/records/${id}`;
    let last = '';
    for (let nth = 0; nth < 110; nth += 1) {
      const answer = await tenant.admin.api.patch(path, { values: { title: `Change ${nth}` } });
      last = answer.as(z.looseObject({ updated_at: z.string() })).updated_at;
    }
    const stream = encodeURIComponent(`${tenant.id}.record-${id}`);
    const moment = new URLSearchParams({ at: last });
    const page = await site.visit(tenant.admin.token, `/events/streams/${stream}?${moment}`);
    await page.getByText(/, revision 111 of 111,/).waitFor();
    await page.getByText('Change 109').first().waitFor();
    await page.getByRole('button', { name: 'Yesterday' }).click();
    await page.getByText('At that moment it did not exist yet.').waitFor();
  }).timeout(60_000);

  it('select by type and time, and list who did what', async () => {
    await changedRecord();
    const page = await site.visit(tenant.admin.token, '/events?type=NoSuchType');
    await page.getByText('No event matches these filters').waitFor();
    const type = page.getByRole('textbox', { name: 'Type' });
    await type.fill('EntityDefined');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'EntityDefined' }).waitFor();
    await page.keyboard.press('End');
    await page.keyboard.type('X');
    expect(await type.inputValue()).to.equal('EntityDefinedX');
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await eventually('an empty filter', async () => (await type.inputValue()) === '');
    await goTo(page, '/event-log');
    await page.getByRole('heading', { level: 1, name: 'Who did what' }).waitFor();
    await page.getByRole('gridcell').nth(3).waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
  }).timeout(60_000);

  it('sign the present state, and offer the files for an offline check', async () => {
    const page = await site.visit(tenant.admin.token, '/events/verification');
    await page.getByText('Ed25519').waitFor();
    expect(await flawsOf(page)).to.deep.equal([]);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download the proof' }).click(),
    ]);
    expect(download.suggestedFilename()).to.equal('proof.ndjson');
  }).timeout(60_000);

  it('say of a stream that further events could not be read, and read them again', async () => {
    const stream = `${tenant.id}.record-long`;
    const page = await site.browser.openAs(tenant.admin.token, '/time-travel');
    let fails = true;
    await page.route('**/api/v1/tenant/audit/events?*', async (route) => {
      const url = new URL(route.request().url());
      const from = Number(url.searchParams.get('after') ?? '-1') + 1;
      if (from > 0 && fails)
        return route.fulfill({ status: 500, json: { error: 'internal_error', message: 'It failed.' } });
      const json = Array.from({ length: from === 0 ? 100 : 50 }, (_, nth) => ({
        position: `${from + nth}`,
        stream,
        revision: from + nth,
        id: `event-${from + nth}`,
        type: 'RecordUpdated',
        data: {},
        metadata: { occurred_at: '2026-11-24T08:00:00.000Z' },
        sealed: { data: '{}', metadata: '{}' },
      }));
      url.searchParams.set('after', '99');
      const headers = { link: `<${url.pathname}${url.search}>; rel="next"` };
      return route.fulfill({ json, ...(from === 0 ? { headers } : {}) });
    });
    await page.route('**/state?*', (route) => route.fulfill({ json: { state: {} } }));
    site.browser.expect(/status of 500/);
    await goTo(page, `/events/streams/${encodeURIComponent(stream)}`);
    const problem = page.getByRole('alert').filter({ hasText: 'It failed.' });
    await problem.waitFor();
    await page.getByRole('heading', { level: 2, name: '100+ events' }).waitFor();
    fails = false;
    await problem.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { level: 2, name: '150 events' }).waitFor();
  }).timeout(60_000);
});
