import { expect } from 'chai';
import { changeProfile, PROFILE_ID, profileStream } from '../../../domain/billing/profile.ts';
import { RATE_CARD_ID, rateCardStream, replaceRateCard } from '../../../domain/billing/rate-card.ts';
import type { StatementLine } from '../../../domain/billing/shapes.ts';
import { partnerScope } from '../../../domain/partners/partner.ts';
import { causeOf } from '../../support/book.ts';
import { startNode } from '../../support/node.ts';
import type { Use } from './metered.ts';
import { ACME, BETA, between, PARTNER, startBilling } from './metered.ts';

const NOVEMBER = between('2026-11-01', '2026-12-01');
const CARD = { records_created: { wholesale: '10', retail: '25' } };

const used = (at: string, meter: Use['meter'] = 'records_created', user = 'ann'): Use => ({
  meter,
  at: new Date(at).toISOString(),
  user,
});

/** Decisions, section 10, Statements. */
describe('Statements', () => {
  it('list every customer with its used meters only', async () => {
    const billing = await startBilling();
    await billing.put({ records_created: { wholesale: '10.5', retail: '25' } });
    for (const day of ['01', '02', '02']) await billing.use(used(`2026-11-${day}T10:00:00Z`));
    const [acme, beta] = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(acme?.customer).to.deep.equal({ id: ACME, name: 'acme & sons' });
    expect(acme?.lines.map(({ meter, quantity }) => [meter, quantity])).to.deep.equal([
      ['active_users', 1],
      ['records_created', 3],
    ]);
    expect(acme?.lines[0]).to.include({ unrated: true, wholesale: 0, retail: 0, wholesale_rate: null });
    // 31.5 rounds to the even neighbour.
    expect(acme?.lines[1]).to.include({ wholesale: 32, retail: 75, included: 0, billable: 3 });
    expect(acme?.totals).to.deep.equal({ wholesale: 32, retail: 75, margin: 43, margin_pct: 57.33 });
    expect(beta).to.deep.include({ customer: { id: BETA, name: 'beta & sons' }, lines: [] });
    expect(beta?.totals).to.deep.equal({ wholesale: 0, retail: 0, margin: 0, margin_pct: null });
  });

  it('include the first instant of a window and exclude its end', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    for (const at of ['2026-11-01T00:00:00.000Z', '2026-10-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z']) {
      await billing.use(used(at));
    }
    const quantities = async (from: string, to: string) =>
      (await billing.statements.statements(PARTNER, between(from, to)))[0]?.lines
        .filter(({ meter }) => meter === 'records_created')
        .map(({ quantity }) => quantity);
    expect(await quantities('2026-11-01', '2026-12-01')).to.deep.equal([1]);
    expect(await quantities('2026-10-31T23:59:59.999Z', '2026-12-01')).to.deep.equal([2]);
    expect(await quantities('2026-10-31T23:59:59.999Z', '2026-12-01T00:00:00.001Z')).to.deep.equal([3]);
    expect(await quantities('2026-11-01T00:00:00.001Z', '2026-12-01')).to.deep.equal([]);
  });

  it('include the leap day', async () => {
    const billing = await startBilling();
    for (const at of ['2028-02-28T23:00:00Z', '2028-02-29T12:00:00Z', '2028-03-01T00:00:00Z']) {
      await billing.use(used(at));
    }
    const [leap] = await billing.statements.statements(PARTNER, between('2028-02-29', '2028-03-01'));
    expect(leap?.lines.map(({ quantity, item_name }) => [quantity, item_name])).to.deep.equal([
      [1, 'active_users 2028-02-29..2028-02-29'],
      [1, 'records_created 2028-02-29..2028-02-29'],
    ]);
    const [month] = await billing.statements.statements(PARTNER, between('2028-02-01', '2028-03-01'));
    expect(month?.lines[1]?.quantity).to.equal(2);
  });

  it('use included quantities month by month in order of time', async () => {
    const billing = await startBilling();
    await billing.put({ records_created: { wholesale: '1', retail: '2', included: 3 } });
    for (const day of ['10-30', '10-31', '11-01', '11-02', '11-10', '11-20', '11-21']) {
      await billing.use(used(`2026-${day}T12:00:00Z`));
    }
    const line = async (from: string, to: string) =>
      (await billing.statements.statements(PARTNER, between(from, to)))[0]?.lines.find(
        ({ meter }) => meter === 'records_created',
      );
    expect(await line('2026-11-01', '2026-12-01')).to.include({ quantity: 5, included: 3, billable: 2 });
    expect(await line('2026-11-15', '2026-12-01')).to.include({ quantity: 2, included: 0, billable: 2 });
    expect(await line('2026-11-02', '2026-11-15')).to.include({ quantity: 2, included: 2, billable: 0 });
    // October’s unused quantity does not carry over to November.
    expect(await line('2026-10-01', '2026-12-01')).to.include({ quantity: 7, included: 5, billable: 2 });
    expect(await line('2026-11-10T12:00:00Z', '2026-11-20T12:00:00.001Z')).to.include({
      quantity: 2,
      included: 1,
      billable: 1,
    });
  });

  it('count a person once per window, and nobody under impersonation', async () => {
    const billing = await startBilling();
    const active = (at: string, user: string, impersonated = false) =>
      billing.use({ ...used(at, 'active_users', user), impersonated });
    await active('2026-11-01T01:00:00Z', 'ann');
    await active('2026-11-01T02:00:00Z', 'ann');
    await active('2026-11-20T01:00:00Z', 'ann');
    await active('2026-11-20T01:00:00Z', 'ben');
    await active('2026-11-21T01:00:00Z', 'cy', true);
    await active('2026-12-01T00:00:00Z', 'dee');
    await billing.append(
      'usage',
      ACME,
      { type: 'UserRoleChanged', data: { user_id: 'u', role: 'admin' }, at: '2026-11-05T00:00:00Z' },
      { user: 'subscriber', kind: 'system' },
    );
    const count = async (from: string, to: string) =>
      (await billing.statements.statements(PARTNER, between(from, to)))[0]?.lines[0]?.quantity;
    expect(await count('2026-11-01', '2026-12-01')).to.equal(2);
    expect(await count('2026-11-01', '2026-11-02')).to.equal(1);
    expect(await count('2026-11-01T01:30:00Z', '2026-11-20T01:00:00Z')).to.equal(1);
    expect(await count('2026-11-01T02:00:00.001Z', '2026-12-02')).to.equal(3);
  });

  it('show invoiced lines as frozen after changes of rate card and usage', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    await billing.use(used('2026-11-03T00:00:00Z'));
    const invoice = await billing.generate(between('2026-11-01', '2026-11-10'));
    const frozen = structuredClone(invoice.lines);
    await billing.put({ records_created: { wholesale: '100', retail: '200' } });
    await billing.use(used('2026-11-12T00:00:00Z'));
    const [acme] = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(acme?.lines.slice(0, frozen.length)).to.deep.equal(frozen);
    const records = acme?.lines.filter(({ meter }) => meter === 'records_created');
    expect(records?.map(({ retail }) => retail)).to.deep.equal([25, 200]);
    const sums = await billing.statements.reconciliation(PARTNER, NOVEMBER, 'meter');
    const bucket = sums.buckets.find(({ scope }) => scope.id === 'records_created');
    expect(bucket).to.deep.include({
      wholesale: 110,
      retail: 225,
      margin: 115,
      margin_pct: 51.11,
      invoiced: { wholesale: 10, retail: 25 },
      unbilled: { wholesale: 100, retail: 200 },
    });
  });

  it('count an invoice over two windows only in the window where the invoice begins', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    await billing.use(used('2026-11-03T00:00:00Z'));
    await billing.use(used('2026-11-18T00:00:00Z'));
    await billing.generate(between('2026-11-01', '2026-11-20'));
    const retail = async (from: string, to: string) =>
      (await billing.statements.reconciliation(PARTNER, between(from, to), 'customer')).totals.invoiced
        .retail;
    expect(await retail('2026-11-01', '2026-11-10')).to.equal(50);
    const rest = await billing.statements.reconciliation(
      PARTNER,
      between('2026-11-10', '2026-12-01'),
      'customer',
    );
    expect(rest.totals).to.deep.include({ retail: 0, unbilled: { wholesale: 0, retail: 0 } });
  });

  it('bill late usage once, as a line of its own window', async () => {
    const billing = await startBilling();
    await billing.put({ records_created: { wholesale: '10', retail: '25', included: 2 } });
    await billing.use(used('2026-11-03T00:00:00Z'));
    const november = await billing.generate(NOVEMBER);
    for (const day of ['04', '05', '06']) await billing.use(used(`2026-11-${day}T00:00:00Z`));
    await billing.use(used('2026-12-02T00:00:00Z'));
    const [acme] = await billing.statements.statements(PARTNER, NOVEMBER);
    const late = acme?.lines.filter((line) => line.late);
    expect(late).to.have.length(1);
    // Of four units, one is invoiced, and one more is included.
    expect(late?.[0]).to.deep.include({
      meter: 'records_created',
      quantity: 3,
      included: 1,
      billable: 2,
      retail: 50,
      window: NOVEMBER,
      item_name: 'records_created 2026-11-01..2026-11-30',
    });
    const december = await billing.generate(between('2026-12-01', '2027-01-01'));
    expect(december.lines.filter((line) => line.late)).to.deep.equal(late);
    const [after] = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(after?.lines).to.deep.equal(november.lines);
    // The late line counts where its invoice begins; when the invoice is void, the line is unbilled again.
    billing.discard(december);
    const [again] = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(again?.lines).to.deep.equal(acme?.lines);
  });

  it('do not bill late usage again when its window is freed', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    await billing.use(used('2026-11-03T00:00:00Z'));
    const november = await billing.generate(NOVEMBER);
    await billing.use(used('2026-11-20T00:00:00Z'));
    await billing.generate(between('2026-12-01', '2027-01-01'));
    billing.discard(november);
    const records = async () =>
      (await billing.statements.statements(PARTNER, between('2026-11-01', '2027-01-01')))[0]?.lines
        .filter(({ meter }) => meter === 'records_created')
        .map(({ quantity, late }) => [quantity, late ?? false]);
    const both = [
      [1, true],
      [1, false],
    ];
    expect(await records()).to.deep.equal(both);
    // In a window that begins earlier, the late usage is still billed once.
    const wider = await billing.generate(between('2026-10-15', '2026-12-01'));
    expect(wider.lines.find(({ meter }) => meter === 'records_created')).to.include({ quantity: 1 });
    expect(await records()).to.deep.equal([[1, true]]);
    const all = await billing.statements.statements(PARTNER, between('2026-10-01', '2027-01-01'));
    const lines = all[0]?.lines.filter(({ meter }) => meter === 'records_created');
    expect(lines?.map(({ quantity }) => quantity)).to.deep.equal([1, 1]);
    billing.discard(wider);
    // The window in two parts: the late usage fills up the first invoice that has room for it.
    await billing.generate(between('2026-11-10', '2026-11-30'));
    await billing.generate(between('2026-11-01', '2026-11-10'));
    const quantities = (await records())?.map(([quantity]) => Number(quantity));
    expect(quantities?.reduce((all, one) => all + one, 0)).to.equal(2);
  });

  it('bill usage above the included quantity once when its window is split again', async () => {
    const billing = await startBilling();
    await billing.put({ records_created: { ...CARD.records_created, included: 2 } });
    await billing.use(used('2026-11-01T00:00:00Z'));
    const records = (lines: readonly StatementLine[] = []) =>
      lines
        .filter(({ meter }) => meter === 'records_created')
        .map(({ quantity, billable }) => [quantity, billable]);
    const first = await billing.generate(between('2026-11-01', '2026-11-01T12:00:00Z'));
    await billing.use(used('2026-11-01T00:00:00Z'));
    await billing.use(used('2026-11-01T06:00:00Z'));
    const second = await billing.generate(between('2026-11-01T12:00:00Z', '2026-11-01T18:00:00Z'));
    expect(records(second.lines)).to.deep.equal([[2, 1]]);
    billing.discard(first);
    const third = await billing.generate(between('2026-11-01', '2026-11-01T06:00:00Z'));
    expect(records(third.lines)).to.deep.equal([[1, 0]]);
    const [acme] = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(records(acme?.lines)).to.have.deep.members([
      [1, 0],
      [2, 1],
    ]);
  });

  it('list invoices of former customers, and of other currencies separately', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    await billing.use(used('2026-11-03T00:00:00Z'));
    const invoice = await billing.generate(NOVEMBER);
    billing.invoices.push({ ...invoice, customer: { id: 'gone', name: 'Gone' } });
    billing.invoices.push({ ...invoice, customer: { id: BETA, name: 'beta' }, currency: 'USD' });
    const statements = await billing.statements.statements(PARTNER, NOVEMBER);
    expect(
      statements.map(({ customer, currency, totals }) => [customer.id, currency, totals.retail]),
    ).to.deep.equal([
      [ACME, 'EUR', 25],
      [BETA, 'EUR', 0],
      ['gone', 'EUR', 25],
      [BETA, 'USD', 25],
    ]);
    const { buckets, totals } = await billing.statements.reconciliation(PARTNER, NOVEMBER, 'customer');
    expect(buckets.map(({ scope }) => scope.id)).to.deep.equal([ACME, BETA, 'gone']);
    expect(totals.retail).to.equal(50);
  });

  it('yield the figures of the guide’s example', async () => {
    const billing = await startBilling();
    await billing.put({ records_created: { wholesale: '0.4', retail: '1.25', included: 100 } });
    const many = async (count: number, day: string): Promise<void> => {
      for (let nth = 0; nth < count; nth += 1) await billing.use(used(`2026-11-${day}T12:00:00Z`));
    };
    await many(60, '03');
    await many(75, '10');
    const figures = async (from: string, to: string) => {
      const [acme] = await billing.statements.statements(PARTNER, between(from, to));
      return acme?.lines
        .filter(({ meter }) => meter === 'records_created')
        .map(({ quantity, included, billable, wholesale, retail }) => [
          quantity,
          included,
          billable,
          wholesale,
          retail,
        ]);
    };
    expect(await figures('2026-11-01', '2026-12-01')).to.deep.equal([[135, 100, 35, 14, 44]]);
    expect(await figures('2026-11-01', '2026-11-08')).to.deep.equal([[60, 60, 0, 0, 0]]);
    expect(await figures('2026-11-08', '2026-12-01')).to.deep.equal([[75, 40, 35, 14, 44]]);
    const invoice = await billing.generate(NOVEMBER);
    expect(invoice.totals).to.include({ margin: 30, margin_pct: 68.18 });
    await many(5, '20');
    expect(await figures('2026-11-01', '2026-12-01')).to.deep.equal([
      [135, 100, 35, 14, 44],
      [5, 0, 5, 2, 6],
    ]);
  });

  it('make a draft with the rate card and the profile that another node has just stored', async () => {
    const billing = await startBilling();
    await billing.put(CARD);
    await billing.use(used('2026-11-03T00:00:00Z'));
    // From now on this node has cached both.
    await billing.statements.draft(PARTNER, ACME, NOVEMBER);
    const { events, keyStore, snapshots, clock } = billing;
    const other = startNode({ events, keyStore, snapshots, clock });
    const context = { cause: causeOf('other') };
    const scope = partnerScope(PARTNER);
    const rates = { records_created: { wholesale: '20', retail: '50' } };
    await other.streams
      .of(rateCardStream, scope, RATE_CARD_ID)
      .execute(context, (state) => replaceRateCard(state, { currency: 'EUR', rates }, []));
    await other.streams
      .of(profileStream, scope, PROFILE_ID)
      .execute(context, (state) =>
        changeProfile(state, { item_name_template: 'Records', item_description: '' }),
      );
    const draft = await billing.statements.draft(PARTNER, ACME, NOVEMBER);
    expect(draft.rate_card_version).to.equal(2);
    const line = draft.lines.find(({ meter }) => meter === 'records_created');
    expect(line).to.include({ wholesale: 20, retail: 50, item_name: 'Records' });
  });

  it('make a draft only after the log was folded to its end, and return that position', async () => {
    const billing = await startBilling();
    await billing.use(used('2026-11-03T00:00:00Z'));
    const draft = await billing.statements.draft(PARTNER, ACME, NOVEMBER);
    expect(draft.through).to.equal(await billing.events.end());
    expect(draft.lines.map(({ quantity }) => quantity)).to.deep.equal([1, 1]);
  });
});
