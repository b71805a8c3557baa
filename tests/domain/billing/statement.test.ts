import { expect } from 'chai';
import { lineOf } from '../../../domain/billing/pricing.ts';
import type { RateCard } from '../../../domain/billing/rate-card.ts';
import type { FrozenInvoice, Window } from '../../../domain/billing/shapes.ts';
import { unbilledLines } from '../../../domain/billing/statement.ts';
import type { UsagePeriod } from '../../../domain/billing/usage.ts';

const texts = { item_name: '', item_description: '' };
const day = (from: number, to: number): Window => ({
  from: `2026-11-${from}T00:00:00.000Z`,
  to: `2026-11-${to}T00:00:00.000Z`,
});

/** An invoice of an earlier month with one late unit of a window whose own invoice was voided since. */
const invoiceWithLate = (id: string, window: Window, late: Window): FrozenInvoice => ({
  id,
  customer: { id: 'acme', name: 'Acme' },
  window,
  revision: 1,
  currency: 'EUR',
  lines: [lineOf('jobs_started', { quantity: 1, billable: 1 }, undefined, texts, late)],
  totals: { wholesale: 0, retail: 0, margin: 0, margin_pct: null },
  rate_card_version: 0,
  generated_at: '2026-12-01T00:00:00.000Z',
});

const used = (from: string, count: number): UsagePeriod => ({
  from,
  counts: { jobs_started: count },
  users: new Set(),
});

describe('Unbilled usage', () => {
  /** The one included unit is used up on the 17th: only the unit of the 29th is billable. */
  const periods = [used(day(17, 18).from, 1), used(day(29, 30).from, 1)];
  const card: RateCard = {
    version: 1,
    updatedAt: null,
    currency: 'EUR',
    rates: { jobs_started: { wholesale: '1', retail: '2', included: 1 } },
  };
  const priced = { window: day(10, 30), card, textsOf: () => texts };
  const [wide, narrow] = [day(17, 30), day(29, 30)];
  const invoices = [
    invoiceWithLate('a', { from: '2026-10-01T00:00:00.000Z', to: '2026-10-02T00:00:00.000Z' }, wide),
    invoiceWithLate('b', { from: '2026-10-02T00:00:00.000Z', to: '2026-10-03T00:00:00.000Z' }, narrow),
  ];

  for (const order of [invoices, invoices.toReversed()]) {
    it(`is empty where late lines of overlapping windows hold all units (${order.map(({ id }) => id)})`, () => {
      expect(unbilledLines(priced, periods, order, [])).to.deep.equal([]);
    });
  }

  it('is the usage that no late line holds', () => {
    const [line] = unbilledLines(priced, periods, invoices.slice(0, 1), []);
    expect(line).to.include({ quantity: 1, included: 1, billable: 0 });
  });
});
