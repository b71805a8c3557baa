import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { partnerWith, putCard, RECONCILIATION, STATEMENTS } from '../../support/billing.ts';
import { cellOf, expectInert, hardText, rowsOf } from '../../support/csv.ts';
import { PROFILE } from '../../support/partners.ts';
import { endWorld, say, sharedWorld, type TestTenant, talk, type World } from '../../support/world.ts';
import { edit, preview, SESSIONS } from '../bulk/support.ts';
import { define } from '../entities/support.ts';
import { ACCOUNTS, ENTRIES, posted, REPORTS, withBooks } from '../ledger/support.ts';

const TESTED = [
  '/api/v1/partner-portal/billing/reconciliation.csv',
  '/api/v1/partner-portal/billing/statements.csv',
  '/api/v1/tenant/bulk-ops/sessions/{id}/errors.csv',
  '/api/v1/tenant/gl/entries.csv',
  '/api/v1/tenant/reports/trial-balance.csv',
];
const openapi = z.object({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) })),
  ),
});

const AMOUNTS = ['debit', 'credit', 'line_no', 'number'];
const SUMS = ['opening_debit', 'opening_credit', 'debit', 'credit', 'closing_debit', 'closing_credit'];
const MONEY = ['wholesale', 'retail', 'margin', 'margin_pct'];
const INVOICED = ['invoiced_wholesale', 'invoiced_retail', 'unbilled_wholesale', 'unbilled_retail'];

const texts = (count: number) => fc.sample(hardText, count);

describe('Every CSV of the product in an independent parser', function () {
  this.timeout(60_000);
  let world: World;
  let books: TestTenant;
  before(async () => {
    world = await sharedWorld();
    books = await withBooks(world);
  });
  after(endWorld);

  /** The text as stored; undefined when it is refused. */
  const kept = async (post: () => Promise<{ status: number; json: unknown }>, key: string) => {
    const { status, json } = await post();
    return status < 300 ? z.looseObject({ [key]: z.string() }).parse(json)[key] : undefined;
  };

  it('has a test here', async () => {
    const { paths } = (await world.anybody.get('/openapi.json')).as(openapi);
    const found = Object.entries(paths).filter(([, methods]) =>
      Object.values(methods).some(({ responses }) => JSON.stringify(responses).includes('text/csv')),
    );
    expect(found.map(([path]) => path).sort()).to.deep.equal(TESTED);
  });

  it('has the record ids of errors.csv, none of them a formula', async () => {
    const entity = await define(books.admin, { key: 'n', type: 'integer' });
    const ids = [...new Set(['a\nb', 'a\rb', ' =1', '\t@x', '\u00a0+1', '＝1', ...texts(150)])];
    const { id } = await preview(books.admin, entity, edit({ n: 1 }), ids);
    const csv = (await books.admin.api.get(`${SESSIONS}/${id}/errors.csv`)).text;
    expectInert(csv);
    const rows = rowsOf(csv);
    // One row for each stored id. Different ids may have equal cells, since an apostrophe is put before a formula.
    const stored = new Set(ids.map((each) => each.toWellFormed().replaceAll('\0', '\ufffd')));
    expect(rows.map(({ record_id }) => record_id)).to.deep.equal([...stored].map(cellOf));
    for (const { current_state, code, message } of rows) {
      expect([current_state, code]).to.deep.equal(['', 'record_not_found']);
      expect(message).to.match(/^\S/);
    }
  });

  it('has the texts of entries.csv and trial-balance.csv, and amounts as numbers', async () => {
    const { api } = books.admin;
    const names = new Map<string, string>();
    for (const [nth, text] of texts(40).entries()) {
      const code = `7${nth}`;
      const name = await kept(() => api.post(ACCOUNTS, { code, name: text, type: 'Asset' }), 'name');
      if (name !== undefined) names.set(code, name);
    }
    expect(names.size).to.be.greaterThan(10);
    const memo = texts(1)[0] ?? '';
    const lines = [...names.keys()].map((account_code, nth) => ({ account_code, debit: nth + 1 }));
    const total = lines.reduce((sum, { debit }) => sum + debit, 0);
    const done = await posted(api, {
      memo,
      lines: [...lines, { account_code: '4000', credit: total, memo: '\r=1' }],
    });
    const entries = (await api.get(`${ENTRIES}.csv`)).text;
    expectInert(entries, AMOUNTS);
    const rows = rowsOf(entries);
    expect(rows).to.have.length(done.lines.length);
    for (const [nth, row] of rows.entries()) {
      const line = done.lines[nth];
      expect(row).to.deep.include({
        id: done.id,
        memo: cellOf(done.memo),
        account_code: line?.account_code,
        account_name: cellOf(line?.account_name ?? ''),
        debit: String(line?.debit),
        credit: String(line?.credit),
        line_memo: cellOf(line?.memo ?? ''),
      });
    }
    const balance = (await api.get(`${REPORTS}/trial-balance.csv`)).text;
    expectInert(balance, SUMS);
    const found = rowsOf(balance);
    for (const [code, name] of names)
      expect(found.find((row) => row.code === code)?.name, code).to.equal(cellOf(name));
  });

  it('has the texts of statements.csv and reconciliation.csv, and losses as negative numbers', async () => {
    const { partner, tenants } = await partnerWith(world, 4);
    await putCard(partner, { messages_sent: { wholesale: '30', retail: '20' } });
    const item_description = '\t=1,"\r2"\n3';
    await partner.api.request('PUT', PROFILE, { item_name_template: '{{customer}}', item_description });
    const names = new Map<string, string>();
    for (const tenant of tenants) {
      for (const text of texts(20)) {
        const path = `/super/tenants/${tenant.id}`;
        const name = await kept(() => world.platform.patch(path, { name: text }), 'name');
        if (name === undefined) continue;
        names.set(tenant.id, name);
        break;
      }
      const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
      await say(ada, await talk(ada, ben), 'a');
    }
    expect(names.size).to.equal(tenants.length);
    const statements = (await partner.api.get(`${STATEMENTS}.csv`)).text;
    const counts = ['rate_card_version', 'quantity', 'included', 'billable', 'wholesale_rate', 'retail_rate'];
    expectInert(statements, [...MONEY, ...counts]);
    const sent = rowsOf(statements).filter(({ meter }) => meter === 'messages_sent');
    expect(sent.map(({ customer_id }) => customer_id).sort()).to.deep.equal([...names.keys()].sort());
    for (const { customer_id = '', customer_name, item_name } of sent) {
      const cell = cellOf(names.get(customer_id) ?? '');
      expect([customer_name, item_name]).to.deep.equal([cell, cell]);
    }
    const reconciliation = (await partner.api.get(`${RECONCILIATION}.csv`)).text;
    expectInert(reconciliation, [...MONEY, ...INVOICED]);
    const buckets = rowsOf(reconciliation).filter(({ id }) => id !== '');
    for (const { id = '', name, margin } of buckets)
      expect([name, margin]).to.deep.equal([cellOf(names.get(id) ?? ''), '-10']);
  });
});
