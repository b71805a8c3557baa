import { expect } from 'chai';
import { startUpstream, type TestUpstream } from '../../support/billing-upstream.ts';
import { newPartner, type TestPartner } from '../../support/partners.ts';
import { eventually } from '../../support/server.ts';
import { endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { allEntries, allFailures, entriesOf, makeRule, type Rule } from '../ledger/rules-support.ts';
import { withBooks } from '../ledger/support.ts';
import {
  generate,
  INVOICES,
  type Invoice,
  newCustomer,
  priceMessages,
  read,
  send,
} from './invoice-support.ts';

/** Posts an invoice: the customer owes retail, the partner owes wholesale. */
const RULE = {
  name: 'Invoiced',
  source_kind: 'partner_invoice.issued',
  date: 'issued_at',
  when: 'payload.totals.retail > 0',
  lines: [
    { account_code: '1200', side: 'debit', amount: { path: 'totals.retail' } },
    { account_code: '4000', side: 'credit', amount: { path: 'totals.retail' } },
    { account_code: '5000', side: 'debit', amount: { path: 'totals.wholesale' } },
    { account_code: '2100', side: 'credit', amount: { path: 'totals.wholesale' } },
  ],
  mode: 'post',
};

/** Decisions, section 9, Sources: `partner_invoice.issued`, in the ledger of the partner's own tenant. */
describe('An issued invoice in the partner’s ledger', () => {
  let world: World;
  let upstream: TestUpstream;
  let north: TestPartner;
  let home: TestTenant;
  let rule: Rule;

  before(async () => {
    upstream = await startUpstream();
    world = await startWorld({ env: { BILLING_UPSTREAM_URL: upstream.url } });
    north = await newPartner(world);
    await priceMessages(north);
    home = await withBooks(world);
    await world.platform.patch(`/super/partners/${north.id}`, { home_tenant_id: home.id });
    rule = await makeRule(home.admin.api, RULE);
  });
  after(async () => {
    await endWorld();
    await upstream.end();
  });
  afterEach(() => upstream.onCall(() => undefined));

  let issued = 0;
  const newInvoice = async (messages: number, partner = north): Promise<Invoice> => {
    const customer = await newCustomer(world, partner);
    await send(customer, messages);
    return generate(partner, customer);
  };
  const issue = ({ id }: Invoice, partner = north) => partner.api.post(`${INVOICES}/${id}/issue`);
  /** Counts more issued invoices; returns the rule's entries once there is one for each. */
  const entries = (more = 1) => {
    issued += more;
    return entriesOf(home.admin.api, rule, issued, 60_000);
  };

  it('is one posted entry, however often it is issued', async () => {
    const voided = await newInvoice(1);
    await north.api.post(`${INVOICES}/${voided.id}/void`);
    const made = await newInvoice(3);
    upstream.fail({ status: 400 });
    expect((await issue(made)).error).to.equal('upstream_refused');
    const answers = await Promise.all([issue(made), issue(made), issue(made)]);
    for (const { status } of answers) expect(status).to.be.oneOf([200, 202]);
    expect((await issue(made)).status).to.equal(200);
    const [entry] = await entries();
    expect(entry).to.deep.include({ state: 'posted', currency: 'EUR', total_debit: 390, total_credit: 390 });
    expect(entry?.date).to.equal((await read(north, made)).issued_at?.slice(0, 10));
    expect(
      entry?.lines.map(({ account_code, debit, credit }) => [account_code, debit, credit]),
    ).to.deep.equal([
      ['1200', 240, 0],
      ['4000', 0, 240],
      ['5000', 150, 0],
      ['2100', 0, 150],
    ]);
    expect(entry?.source).to.include({ kind: 'partner_invoice.issued', rule_id: rule.id });
    expect(await allFailures(home.admin.api)).to.deep.equal([]);
  }).timeout(60_000);

  it('is not posted when it is of a partner without a tenant of its own', async () => {
    const south = await newPartner(world);
    await priceMessages(south);
    expect((await issue(await newInvoice(1, south), south)).status).to.equal(200);
    // When a later invoice has its entry, the invoice above must still have none.
    expect((await issue(await newInvoice(1))).status).to.equal(200);
    const made = await entries();
    expect(made.map(({ total_debit }) => total_debit)).to.deep.equal([390, 130]);
  }).timeout(60_000);

  it('is one entry when the server is killed while the upstream answers, or while the event is handled', async () => {
    for (const moment of ['as the upstream is called', 'as the last event is handled'] as const) {
      const made = [await newInvoice(1), await newInvoice(1), await newInvoice(1)];
      const { server } = world;
      const kill = () => server.signal('SIGKILL');
      let calls = 0;
      upstream.onCall(() => {
        calls += 1;
        if (calls === made.length && moment === 'as the upstream is called') kill();
      });
      await Promise.all(made.map((one) => issue(one).catch(() => undefined)));
      if (moment === 'as the last event is handled') setTimeout(kill, 5);
      await server.exited;
      upstream.onCall(() => undefined);
      await world.restart();
      await world.ready();
      for (const one of made) {
        await eventually('issued', async () => (await read(north, one)).state === 'issued', 60_000);
      }
      const numbers = (await entries(made.length)).map(({ number }) => number);
      expect(numbers).to.deep.equal(Array.from({ length: issued }, (_, nth) => nth + 1));
    }
    expect(await allEntries(home.admin.api)).to.have.length(issued);
    expect(await allFailures(home.admin.api)).to.deep.equal([]);
  }).timeout(240_000);
});
