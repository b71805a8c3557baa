import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { newPartner, PORTAL, PROFILE, type TestPartner } from '../../support/partners.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { create, define } from '../entities/support.ts';
import {
  GENERATE,
  generate,
  INVOICES,
  invoice,
  line,
  monthAhead,
  newCustomer,
  RATE_CARD,
  read,
  send,
} from './invoice-support.ts';

const STATEMENTS = `${PORTAL}/billing/statements`;
const RECONCILIATION = `${PORTAL}/billing/reconciliation`;

const totals = z.object({
  wholesale: z.int(),
  retail: z.int(),
  margin: z.int(),
  margin_pct: z.number().nullable(),
});
const statements = z.array(
  z.object({
    customer: z.object({ id: z.string() }),
    lines: z.array(line),
    totals,
    rate_card_version: z.int(),
  }),
);
const pair = z.object({ wholesale: z.int(), retail: z.int() });
const reconciliation = z.object({
  buckets: z.array(
    totals.extend({
      scope: z.object({ kind: z.string(), id: z.string(), name: z.string() }),
      invoiced: pair,
      unbilled: pair,
    }),
  ),
  totals,
});

type Line = z.output<typeof line>;
/** For each line: meter, quantity, included, billable, wholesale, retail, and `late` if the line has late usage. */
const short = (lines: readonly Line[]) =>
  lines
    .filter(({ meter }) => meter !== 'active_users')
    .map(({ meter, quantity, included, billable, wholesale, retail, late }) => [
      meter,
      quantity,
      included,
      billable,
      wholesale,
      retail,
      ...(late === true ? ['late'] : []),
    ]);
const MESSAGES = 'messages_sent';
const RECORDS = 'records_created';

/**
 * A month of a partner with three customers; figures computed by hand. Messages cost 50 and sell for 80, two of each
 * month are included; records cost 12.5 and sell for 20.005.
 */
describe('A month of a partner with three customers', () => {
  let world: World;
  let north: TestPartner;
  let acme: TestTenant;
  let brook: TestTenant;
  let cove: TestTenant;
  const entities = new Map<TestTenant, string>();

  const thisMonth = `from=${monthAhead(0).slice(0, 10)}&to=${monthAhead(1).slice(0, 10)}`;
  const bothMonths = `from=${monthAhead(0)}&to=${monthAhead(2)}`;
  const nextMonth = { from: monthAhead(1), to: monthAhead(2) };

  before(async () => {
    world = await startWorld();
    north = await newPartner(world);
    acme = await newCustomer(world, north);
    brook = await newCustomer(world, north);
    cove = await newCustomer(world, north);
    for (const customer of [acme, brook, cove]) {
      entities.set(customer, await define(customer.admin, { key: 'name', type: 'text' }));
    }
  });
  after(endWorld);

  const records = async (customer: TestTenant, count: number): Promise<void> => {
    const name = entities.get(customer) ?? '';
    for (let i = 0; i < count; i += 1) await create(customer.admin, name, { name: `record ${i}` });
  };
  const price = async (messages: object): Promise<void> => {
    const rates = { [MESSAGES]: messages, [RECORDS]: { wholesale: '12.5', retail: '20.005' } };
    (await north.api.request('PUT', RATE_CARD, { currency: 'EUR', rates })).as(z.object({}));
  };
  const statementOf = async (customer: TestTenant, query = thisMonth) => {
    const all = (await north.api.get(`${STATEMENTS}?${query}`)).as(statements);
    expect(all.map((each) => each.customer.id)).to.have.members([acme.id, brook.id, cove.id]);
    const found = all.find((each) => each.customer.id === customer.id);
    if (found === undefined) throw new Error('no statement');
    return found;
  };
  /** By customer, in this order: wholesale, retail, invoiced retail, unbilled retail. */
  const reconciled = async (query = thisMonth) => {
    const answer = (await north.api.get(`${RECONCILIATION}?${query}&scope=customer`)).as(reconciliation);
    const of = ({ id }: TestTenant) => {
      const bucket = answer.buckets.find(({ scope }) => scope.id === id);
      return [bucket?.wholesale, bucket?.retail, bucket?.invoiced.retail, bucket?.unbilled.retail];
    };
    return { acme: of(acme), brook: of(brook), cove: of(cove), totals: answer.totals };
  };

  it('is counted in statements', async () => {
    await price({ wholesale: '50', retail: '80', included: 2 });
    await send(acme, 5);
    await records(acme, 3);
    await send(brook, 2);
    await records(brook, 1);
    await send(cove, 1);

    const { lines, totals: sum } = await statementOf(acme);
    expect(short(lines)).to.have.deep.members([
      [MESSAGES, 5, 2, 3, 150, 240],
      [RECORDS, 3, 0, 3, 38, 60],
    ]);
    expect(sum).to.deep.equal({ wholesale: 188, retail: 300, margin: 112, margin_pct: 37.33 });
    expect(short((await statementOf(brook)).lines)).to.have.deep.members([
      [MESSAGES, 2, 2, 0, 0, 0],
      [RECORDS, 1, 0, 1, 12, 20],
    ]);
    expect((await statementOf(cove)).totals).to.deep.equal({
      wholesale: 0,
      retail: 0,
      margin: 0,
      margin_pct: null,
    });
    expect(await reconciled()).to.deep.equal({
      acme: [188, 300, 0, 300],
      brook: [12, 20, 0, 20],
      cove: [0, 0, 0, 0],
      totals: { wholesale: 200, retail: 320, margin: 120, margin_pct: 37.5 },
    });
    const byMeter = (await north.api.get(`${RECONCILIATION}?${thisMonth}&scope=meter`)).as(reconciliation);
    const meters = new Map(byMeter.buckets.map((bucket) => [bucket.scope.id, bucket]));
    expect(meters.get(MESSAGES)).to.include({ wholesale: 150, retail: 240, margin: 90, margin_pct: 37.5 });
    expect(meters.get(RECORDS)).to.include({ wholesale: 50, retail: 80, margin: 30, margin_pct: 37.5 });
    expect(byMeter.totals).to.include({ wholesale: 200, retail: 320 });
    const behind = await north.api.get(`${STATEMENTS}/${acme.id}/usage?${thisMonth}&meter=${MESSAGES}`);
    expect(behind.as(z.array(z.object({})))).to.have.length(5);
  });

  it('is invoiced, with late usage and void invoices', async () => {
    await north.api.request('PUT', PROFILE, {
      item_name_template: '{{meter}} of {{customer}}',
      item_description: '{{quantity}} for {{partner}}',
    });
    await world.platform.patch(`/super/tenants/${acme.id}`, { name: 'Acme {{meter}}' });
    const first = await generate(north, acme);
    expect(short(first.lines)).to.have.deep.members([
      [MESSAGES, 5, 2, 3, 150, 240],
      [RECORDS, 3, 0, 3, 38, 60],
    ]);
    expect(first.lines.find(({ meter }) => meter === MESSAGES)).to.include({
      item_name: 'messages_sent of Acme {{meter}}',
      item_description: `5 for Partner ${north.id}`,
    });
    expect(first.totals).to.deep.equal({ wholesale: 188, retail: 300, margin: 112, margin_pct: 37.33 });
    expect((await north.api.post(GENERATE, { customer_id: cove.id })).error).to.equal('nothing_to_invoice');
    expect((await reconciled()).acme).to.deep.equal([188, 300, 300, 0]);

    await send(acme, 2);
    await records(acme, 1);
    expect((await reconciled()).acme).to.deep.equal([300, 480, 300, 180]);
    expect((await statementOf(acme)).totals).to.include({ wholesale: 300, retail: 480 });

    const late = await generate(north, acme, nextMonth);
    expect(short(late.lines)).to.have.deep.members([
      [MESSAGES, 2, 0, 2, 100, 160, 'late'],
      [RECORDS, 1, 0, 1, 12, 20, 'late'],
    ]);
    for (const each of late.lines.filter((one) => one.late)) expect(each.window).to.deep.equal(first.window);
    expect(late.totals).to.deep.equal({ wholesale: 112, retail: 180, margin: 68, margin_pct: 37.78 });

    await price({ wholesale: '60', retail: '100', included: 2 });
    (await north.api.post(`${INVOICES}/${late.id}/void`)).as(invoice);
    const again = await generate(north, acme, nextMonth);
    expect(again).to.deep.include({ revision: 2, rate_card_version: 2 });
    expect(short(again.lines)).to.have.deep.members([
      [MESSAGES, 2, 0, 2, 120, 200, 'late'],
      [RECORDS, 1, 0, 1, 12, 20, 'late'],
    ]);
    expect(again.totals).to.deep.equal({ wholesale: 132, retail: 220, margin: 88, margin_pct: 40 });

    const small = await generate(north, brook);
    expect(small.totals).to.include({ wholesale: 12, retail: 20 });
    (await north.api.post(`${INVOICES}/${small.id}/void`)).as(invoice);
    await records(brook, 1);
    const larger = await generate(north, brook);
    expect(larger).to.include({ revision: 2, number: `${brook.id}-2` });
    expect(larger.totals).to.deep.equal({ wholesale: 25, retail: 40, margin: 15, margin_pct: 37.5 });
    expect(await read(north, first)).to.deep.equal(first);
  });

  it('is issued, with equal sums in statements, reconciliation and invoices', async () => {
    const live = (await north.api.get(`${INVOICES}?state=generated`)).as(z.array(invoice));
    expect(live).to.have.length(3);
    for (const { id } of live) (await north.api.post(`${INVOICES}/${id}/issue`)).as(invoice);
    expect(
      readdirSync(join(world.server.dataDir, 'billing')).filter((name) => name.endsWith('.json')),
    ).to.have.length(3);

    expect(await reconciled(bothMonths)).to.deep.equal({
      acme: [320, 520, 520, 0],
      brook: [25, 40, 40, 0],
      cove: [0, 0, 0, 0],
      totals: { wholesale: 345, retail: 560, margin: 215, margin_pct: 38.39 },
    });
    expect((await statementOf(acme, bothMonths)).totals).to.include({ wholesale: 320, retail: 520 });
    expect((await statementOf(brook, bothMonths)).totals).to.include({ wholesale: 25, retail: 40 });
    const issued = (await north.api.get(`${INVOICES}?state=issued`)).as(z.array(invoice));
    expect(issued.reduce((sum, each) => sum + each.totals.retail, 0)).to.equal(560);
    expect(issued.reduce((sum, each) => sum + each.totals.wholesale, 0)).to.equal(345);
  });
});
