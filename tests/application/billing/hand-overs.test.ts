import { expect } from 'chai';
import { MeteredUsage } from '../../../application/billing/metered-usage.ts';
import type { Meter, StatementLine, Window } from '../../../domain/billing/shapes.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { customerById } from '../../../projections/billing/customers.ts';
import { activeOf, daysOf } from '../../../projections/billing/metering.ts';
import { ACME, BETA, type Billing, between, PARTNER, SOUTH, startBilling, type Use } from './metered.ts';

const NOVEMBER = between('2026-11-01', '2026-12-01');
const CARD = { records_created: { wholesale: '10', retail: '25' } };
const CHANGE = '2026-11-10T12:00:00.000Z';

const used = (at: string, user = 'ann', meter: Use['meter'] = 'records_created'): Use => ({
  meter,
  at: new Date(at).toISOString(),
  user,
});

const quantitiesOf = (lines: readonly StatementLine[] = [], meter: Meter = 'records_created') =>
  lines.filter((line) => line.meter === meter).map(({ quantity }) => quantity);

/** Quantities of the meter’s lines in a partner’s statement of a customer; undefined when not listed. */
const shown = async (billing: Billing, partnerId: string, window: Window = NOVEMBER, meter?: Meter) => {
  const statements = await billing.statements.statements(partnerId, window);
  const found = statements.find(({ customer }) => customer.id === ACME);
  return found === undefined ? undefined : quantitiesOf(found.lines, meter);
};

const listed = async (
  billing: Billing,
  partnerId: string,
  meter: Meter = 'records_created',
  window = NOVEMBER,
) => {
  const page = { limit: 100, after: undefined };
  const { events } = await billing.statements.usage(partnerId, ACME, { meter, window }, page);
  return events.map(({ at, actor }) => (meter === 'active_users' ? actor.id : at));
};

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof DomainError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return 'done';
};

const bothCards = async (billing: Billing, included = 0): Promise<void> => {
  const rates = { records_created: { ...CARD.records_created, included } };
  for (const partnerId of [PARTNER, SOUTH]) await billing.put(rates, 'EUR', partnerId);
};

/** Decision 25. */
describe('A customer handed over to another partner', () => {
  let billing: Billing;
  beforeEach(async () => {
    billing = await startBilling();
    await bothCards(billing);
  });

  it('is billed by each partner for its own tenure, also in later invoices', async () => {
    await billing.use(used('2026-11-03T00:00:00Z'));
    await billing.use(used('2026-11-10T11:59:59.999Z'));
    await billing.handOver(CHANGE, SOUTH);
    await billing.use(used(CHANGE));
    await billing.use(used('2026-11-20T00:00:00Z'));
    await billing.use(used('2026-11-21T00:00:00Z'));
    expect(await shown(billing, PARTNER)).to.deep.equal([2]);
    expect(await shown(billing, SOUTH)).to.deep.equal([3]);
    expect(await listed(billing, PARTNER)).to.deep.equal([
      '2026-11-03T00:00:00.000Z',
      '2026-11-10T11:59:59.999Z',
    ]);
    expect(await listed(billing, SOUTH)).to.have.length(3);
    for (const [partnerId, retail] of [
      [PARTNER, 50],
      [SOUTH, 75],
    ] as const) {
      for (const scope of ['customer', 'meter'] as const) {
        const { totals } = await billing.statements.reconciliation(partnerId, NOVEMBER, scope);
        expect(totals.retail, partnerId).to.equal(retail);
      }
      const invoice = await billing.generate(NOVEMBER, ACME, partnerId);
      expect(invoice.totals.retail, partnerId).to.equal(retail);
    }
  });

  it('is listed for the former partner only in windows of its tenure', async () => {
    await billing.handOver(CHANGE, SOUTH);
    const ids = async (partnerId: string, window: Window) =>
      (await billing.statements.statements(partnerId, window)).map(({ customer }) => customer.id);
    expect(await ids(PARTNER, NOVEMBER)).to.deep.equal([BETA, ACME]);
    expect(await ids(PARTNER, between('2026-11-10', '2026-11-11'))).to.deep.equal([BETA, ACME]);
    expect(await ids(PARTNER, between('2026-11-10T12:00:00.001Z', '2026-12-01'))).to.deep.equal([BETA]);
    expect(await ids(PARTNER, between('2026-12-01', '2027-01-01'))).to.deep.equal([BETA]);
    // Every present customer is listed in every window.
    expect(await ids(SOUTH, between('2026-10-01', '2026-11-01'))).to.deep.equal([ACME]);
    expect(await shown(billing, SOUTH, between('2026-10-01', '2026-11-01'))).to.deep.equal([]);
  });

  it('can come back, and each partner keeps all its tenures', async () => {
    await billing.use(used('2026-11-02T00:00:00Z'));
    await billing.handOver('2026-11-05T00:00:00Z', SOUTH);
    await billing.use(used('2026-11-06T00:00:00Z'));
    await billing.handOver('2026-11-10T00:00:00Z', PARTNER);
    for (const day of ['11', '12']) await billing.use(used(`2026-11-${day}T00:00:00Z`));
    expect(await shown(billing, PARTNER)).to.deep.equal([3]);
    expect(await shown(billing, SOUTH)).to.deep.equal([1]);
    expect(await listed(billing, PARTNER)).to.have.length(3);
    expect(await shown(billing, PARTNER, between('2026-11-03', '2026-11-11T12:00:00Z'))).to.deep.equal([1]);
  });

  it('is billed by no partner while it has none', async () => {
    await billing.use(used('2026-11-02T00:00:00Z'));
    await billing.handOver('2026-11-05T06:00:00Z', null);
    await billing.use(used('2026-11-05T07:00:00Z'));
    await billing.use(used('2026-11-06T00:00:00Z'));
    await billing.handOver('2026-11-10T00:00:00Z', PARTNER);
    await billing.use(used('2026-11-11T00:00:00Z'));
    expect(await shown(billing, PARTNER)).to.deep.equal([2]);
    expect(await listed(billing, PARTNER)).to.deep.equal([
      '2026-11-02T00:00:00.000Z',
      '2026-11-11T00:00:00.000Z',
    ]);
    expect(await shown(billing, SOUTH)).to.equal(undefined);
  });

  it('has usage split at the instant of the hand-over, also for two hand-overs on one day', async () => {
    const hours = ['01', '05', '06', '07', '11', '12', '13', '23'];
    for (const hour of hours) {
      const at = `2026-11-10T${hour}:00:00.000Z`;
      if (hour === '06') await billing.handOver(at, SOUTH);
      if (hour === '12') await billing.handOver(at, PARTNER);
      await billing.use(used(at, `user ${hour}`));
    }
    for (const window of [NOVEMBER, between('2026-11-10', '2026-11-11')]) {
      expect(await shown(billing, PARTNER, window)).to.deep.equal([5]);
      expect(await shown(billing, PARTNER, window, 'active_users')).to.deep.equal([5]);
      expect(await shown(billing, SOUTH, window)).to.deep.equal([3]);
      expect(await shown(billing, SOUTH, window, 'active_users')).to.deep.equal([3]);
    }
    const cut = between('2026-11-10T05:00:00Z', '2026-11-10T13:00:00Z');
    expect(await shown(billing, PARTNER, cut)).to.deep.equal([2]);
    expect(await shown(billing, SOUTH, cut)).to.deep.equal([3]);
    expect(await listed(billing, SOUTH, 'active_users')).to.deep.equal(['user 06', 'user 07', 'user 11']);
  });

  it('has usage within the millisecond of the hand-over split by log order', async () => {
    await billing.use(used(CHANGE, 'ann'));
    await billing.handOver(CHANGE, SOUTH);
    await billing.use(used(CHANGE, 'ben'));
    await billing.use(used(CHANGE, 'cy'));
    await billing.handOver(CHANGE, PARTNER);
    await billing.use(used(CHANGE, 'dee'));
    for (const window of [NOVEMBER, between(CHANGE, '2026-11-10T12:00:00.001Z')]) {
      expect(await shown(billing, PARTNER, window)).to.deep.equal([2]);
      expect(await shown(billing, SOUTH, window)).to.deep.equal([2]);
      expect(await listed(billing, PARTNER, 'active_users', window)).to.deep.equal(['ann', 'dee']);
      expect(await listed(billing, SOUTH, 'active_users', window)).to.deep.equal(['ben', 'cy']);
    }
  });

  it('has late usage billed by the partner at the time of the usage', async () => {
    await billing.use(used('2026-11-03T00:00:00Z'));
    const frozen = await billing.generate(NOVEMBER);
    await billing.handOver(CHANGE, SOUTH);
    // Late usage on an earlier day, on the day of the hand-over, and by a person who was active before the hand-over.
    await billing.use(used('2026-11-04T00:00:00Z', 'ben'));
    await billing.use(used('2026-11-10T08:00:00Z', 'cy'));
    await billing.use(used('2026-11-12T00:00:00Z', 'cy'));
    expect(await shown(billing, PARTNER)).to.deep.equal([1, 2]);
    expect(await shown(billing, PARTNER, NOVEMBER, 'active_users')).to.deep.equal([1, 2]);
    expect(await shown(billing, SOUTH)).to.deep.equal([1]);
    const next = await billing.generate(between('2026-10-01', '2026-11-01'));
    expect(next.lines.map(({ meter, quantity, late }) => [meter, quantity, late])).to.deep.equal([
      ['active_users', 2, true],
      ['records_created', 2, true],
    ]);
    expect(await shown(billing, PARTNER)).to.deep.equal([1]);
    expect(billing.invoices[0]).to.equal(frozen);
  });

  it('is billed by the former partner for usage logged before the hand-over, also with a clock ahead', async () => {
    await billing.use(used('2026-11-10T12:00:00.500Z', 'ann'));
    await billing.use(used('2026-11-11T00:00:00.500Z', 'ben'));
    await billing.use(used('2026-11-12T00:00:00Z', 'cy'));
    const frozen = await billing.generate(NOVEMBER);
    expect(quantitiesOf(frozen.lines)).to.deep.equal([3]);
    await billing.handOver(CHANGE, SOUTH);
    await billing.use(used('2026-11-11T00:00:00.500Z', 'ann'));
    expect(await shown(billing, PARTNER)).to.deep.equal([3]);
    expect(await shown(billing, SOUTH)).to.deep.equal([1]);
    expect(await shown(billing, SOUTH, NOVEMBER, 'active_users')).to.deep.equal([1]);
    expect(await listed(billing, SOUTH)).to.deep.equal(['2026-11-11T00:00:00.500Z']);
    expect(await listed(billing, PARTNER)).to.have.length(3);
  });

  it('uses up the included quantity within a partner’s own tenure', async () => {
    await bothCards(billing, 2);
    const records = async (partnerId: string, window: Window = NOVEMBER) => {
      const statements = await billing.statements.statements(partnerId, window);
      const lines = statements.find(({ customer }) => customer.id === ACME)?.lines ?? [];
      const { quantity, included, billable } =
        lines.find(({ meter }) => meter === 'records_created') ?? ({} as Partial<StatementLine>);
      return [quantity, included, billable];
    };
    for (const day of ['01', '02', '03']) await billing.use(used(`2026-11-${day}T00:00:00Z`));
    await billing.handOver('2026-11-10T12:00:00Z', SOUTH);
    for (const day of ['11', '12', '13', '14']) await billing.use(used(`2026-11-${day}T00:00:00Z`));
    await billing.handOver('2026-11-20T12:00:00Z', PARTNER);
    await billing.use(used('2026-11-21T00:00:00Z'));
    expect(await records(PARTNER)).to.deep.equal([4, 2, 2]);
    expect(await records(PARTNER, between('2026-11-15', '2026-12-01'))).to.deep.equal([1, 0, 1]);
    expect(await records(SOUTH)).to.deep.equal([4, 2, 2]);
    expect(await records(SOUTH, between('2026-11-12', '2026-12-01'))).to.deep.equal([3, 1, 2]);
  });

  it('has a person active in both tenures counted once by each partner', async () => {
    const active = (at: string, user: string) => billing.use(used(at, user, 'active_users'));
    await active('2026-11-02T00:00:00Z', 'ann');
    await active('2026-11-10T06:00:00Z', 'ann');
    await active('2026-11-10T06:00:00Z', 'ben');
    await billing.handOver(CHANGE, SOUTH);
    await active('2026-11-10T18:00:00Z', 'ann');
    await active('2026-11-10T19:00:00Z', 'ann');
    await active('2026-11-12T00:00:00Z', 'ann');
    await active('2026-11-12T00:00:00Z', 'cy');
    expect(await listed(billing, PARTNER, 'active_users')).to.deep.equal(['ann', 'ben']);
    expect(await listed(billing, SOUTH, 'active_users')).to.deep.equal(['ann', 'cy']);
    expect(await shown(billing, PARTNER, NOVEMBER, 'active_users')).to.deep.equal([2]);
    expect(await shown(billing, SOUTH, NOVEMBER, 'active_users')).to.deep.equal([2]);
  });

  it('keeps its frozen invoices, and the new partner bills no unit of them again', async () => {
    for (const day of ['02', '03']) await billing.use(used(`2026-11-${day}T00:00:00Z`));
    const frozen = await billing.generate(NOVEMBER);
    const before = structuredClone(frozen);
    await billing.handOver(CHANGE, SOUTH);
    await billing.use(used('2026-11-12T00:00:00Z'));
    const next = await billing.generate(NOVEMBER, ACME, SOUTH);
    expect(quantitiesOf(next.lines)).to.deep.equal([1]);
    expect(frozen).to.deep.equal(before);
    const reconciled = await billing.statements.reconciliation(PARTNER, NOVEMBER, 'customer');
    expect(reconciled.totals).to.deep.include({
      retail: 50,
      invoiced: { wholesale: 20, retail: 50 },
      unbilled: { wholesale: 0, retail: 0 },
    });
    // A former customer is also listed in another window if its invoice begins there.
    const after = await billing.generate(between('2026-12-01', '2027-01-01'));
    expect(after.lines).to.deep.equal([]);
    expect(await shown(billing, PARTNER, between('2026-12-01', '2027-01-01'))).to.deep.equal([]);
  });

  it('is shown to the former partner under its name at that time', async () => {
    await billing.handOver(CHANGE, SOUTH, { name: 'Acme of the south' });
    await billing.handOver('2026-11-20T00:00:00Z', null);
    await billing.append(
      'tenant',
      'platform',
      { type: 'TenantChanged', data: { tenant_id: ACME, name: 'Acme alone' }, at: '2026-11-21T00:00:00Z' },
      { user: 'root' },
    );
    const names = async (partnerId: string) =>
      (await billing.statements.statements(partnerId, NOVEMBER)).map(({ customer }) => customer.name);
    expect(await names(PARTNER)).to.deep.equal(['beta & sons', 'acme & sons']);
    expect(await names(SOUTH)).to.deep.equal(['Acme of the south']);
  });

  it('looks like an unknown tenant to any other partner', async () => {
    const ask = async (partnerId: string, customerId: string) => [
      await codeOf(
        billing.statements.usage(
          partnerId,
          customerId,
          { meter: 'records_created', window: NOVEMBER },
          { limit: 10, after: undefined },
        ),
      ),
      await codeOf(billing.statements.draft(partnerId, customerId, NOVEMBER)),
    ];
    await billing.use(used('2026-11-02T00:00:00Z'));
    const unknown = await ask(SOUTH, 'nobody');
    expect(unknown[0]).to.match(/^not_found/);
    for (const id of [ACME, BETA, 'platform', 'partner_north', 'no-slug', '', '__proto__']) {
      expect(await ask(SOUTH, id), id).to.deep.equal(unknown);
    }
    await billing.handOver(CHANGE, SOUTH);
    expect(await ask(SOUTH, ACME)).to.deep.equal(['done', 'done']);
    expect(await ask(PARTNER, ACME)).to.deep.equal(['done', 'done']);
    expect(await ask(SOUTH, BETA)).to.deep.equal(unknown);
  });

  it('has windows of whole days counted without reading the log', async () => {
    for (const user of ['ann', 'ben']) await billing.use(used('2026-11-10T06:00:00Z', user));
    await billing.handOver(CHANGE, SOUTH);
    for (const user of ['ann', 'cy']) await billing.use(used('2026-11-10T18:00:00Z', user));
    await billing.use(used('2026-11-12T00:00:00Z', 'dee'));
    await billing.fold();
    const { events } = billing;
    const scanAll = events.scanAll.bind(events);
    events.scanAll = () => {
      throw new Error('the log is scanned');
    };
    expect(await shown(billing, PARTNER)).to.deep.equal([2]);
    expect(await shown(billing, SOUTH, NOVEMBER, 'active_users')).to.deep.equal([3]);
    events.scanAll = scanAll;
  });

  it('is counted again when the hand-over happens during the count', async () => {
    await billing.use(used('2026-11-02T00:00:00Z'));
    await billing.fold();
    const { reader } = billing.model;
    let isFirst = true;
    const usage = new MeteredUsage({
      events: billing.events,
      codec: billing.codec,
      model: {
        tenures: async (partnerId, id) => (await customerById(reader, partnerId, id))?.tenures ?? [],
        days: async function* (id, range) {
          if (isFirst) {
            isFirst = false;
            await billing.handOver(CHANGE, SOUTH);
            await billing.use(used('2026-11-12T00:00:00Z'));
            await billing.fold();
          }
          yield* daysOf(reader, id, range);
        },
        active: (id, range) => activeOf(reader, id, range),
      },
    });
    const before = await customerById(reader, PARTNER, ACME);
    if (before === undefined) throw new Error('no customer');
    const periods = await usage.periods(before, [NOVEMBER.from, NOVEMBER.to]);
    expect(periods.map(({ counts }) => counts)).to.deep.equal([{ records_created: 1 }]);
  });
});
