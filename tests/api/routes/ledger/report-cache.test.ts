import { expect } from 'chai';
import { ReportCache } from '../../../../api/routes/ledger/report-cache.ts';
import type { Reader } from '../../../../application/core/projections/reader.ts';
import type { Position } from '../../../../application/ports/event-store.ts';
import { type Balances, type Range, trialBalance } from '../../../../projections/ledger/ledger-reports.ts';
import { books, TENANT } from '../../../projections/ledger/support.ts';

const RANGE: Range = { currency: 'EUR', from: undefined, to: '2026-12-31' };

/** A cache over a read model in memory; `held` makes the next balances wait after they were read. */
const world = () => {
  const model = books();
  const state = { generation: 'v3', folded: '9'.repeat(16), computed: 0 };
  let held: Promise<void> | undefined;
  const reader: Reader = {
    ...model.reader,
    generation: async () => state.generation,
    // The port's positions are opaque texts.
    checkpoint: async () => state.folded as Position,
    findAll: async (tenantId, queries) => {
      const wait = held;
      held = undefined;
      const found = await model.reader.findAll(tenantId, queries);
      await wait;
      return found;
    },
  };
  const cache = new ReportCache(reader);
  const print =
    (range: Range) =>
    (balances: Balances): string => {
      state.computed += 1;
      return String(trialBalance(balances, range).totals.debit);
    };
  return {
    ...model,
    state,
    /** The sum of debits, as the report says. */
    read: async (range = RANGE, { form = 'sums', tenant = TENANT } = {}) =>
      Buffer.from(await cache.present(tenant, form, range, print(range))).toString(),
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
  };
};

describe('Cached reports', () => {
  it('are computed once for a state of the ledger, and again after each posting or change of an account', async () => {
    const { read, post, open, state } = world();
    expect([await read(), await read(), state.computed]).to.deep.equal(['0', '0', 1]);
    post(1, '2026-01-15');
    expect([await read(), await read(), state.computed]).to.deep.equal(['5', '5', 2]);
    open('C');
    expect([await read(), await read(), state.computed]).to.deep.equal(['5', '5', 3]);
  });

  it('differ by tenant, form and range', async () => {
    const { read, post, state } = world();
    post(1, '2026-01-15');
    post(2, '2026-03-15');
    await read();
    expect(await read({ ...RANGE, to: '2026-01-31' })).to.equal('5');
    expect(await read({ ...RANGE, from: '2026-04-01' })).to.equal('0');
    expect(await read({ ...RANGE, currency: 'USD' })).to.equal('0');
    expect(await read(RANGE, { tenant: 'other' })).to.equal('0');
    expect(await read(RANGE, { form: 'csv' })).to.equal('10');
    expect(state.computed).to.equal(6);
  });

  it('are computed once for concurrent requests of the same state', async () => {
    const { read, post, state, hold } = world();
    post(1, '2026-01-15');
    const go = hold();
    const reports = Promise.all(Array.from({ length: 5 }, () => read()));
    go();
    expect(await reports).to.deep.equal(Array.from({ length: 5 }, () => '5'));
    expect(state.computed).to.equal(1);
  });

  it('include a posting that was folded while an older report was computed', async () => {
    const { read, post, hold } = world();
    post(1, '2026-01-15');
    const go = hold();
    const older = read();
    // After a tick, the older report has read its balances and is held.
    await new Promise(setImmediate);
    post(2, '2026-01-15');
    expect(await read()).to.equal('10');
    go();
    expect(await older).to.equal('5');
    expect(await read()).to.equal('10');
  });

  it('are not kept while their last change belongs to a batch that may be written in part', async () => {
    const { read, post, state, documents } = world();
    post(1, '2026-01-15');
    state.folded = `${'0'.repeat(15)}2`;
    post(2, '2026-01-15');
    const months = documents('months', TENANT);
    const whole = new Map(months);
    // The last change is visible, the balances of its batch are not yet.
    months.clear();
    const days = documents('days', TENANT);
    const all = new Map(days);
    days.clear();
    expect(await read({ ...RANGE, to: '2026-01-31' })).to.equal('0');
    for (const [id, doc] of whole) months.set(id, doc);
    for (const [id, doc] of all) days.set(id, doc);
    expect(await read({ ...RANGE, to: '2026-01-31' })).to.equal('10');
  });

  it('of one generation of the read model are not used for another generation', async () => {
    const { read, state } = world();
    await read();
    state.generation = 'v3.1';
    await read();
    expect(state.computed).to.equal(2);
  });
});
