import { expect } from 'chai';
import fc from 'fast-check';
import type { Rates } from '../../domain/billing/rate-card.ts';
import type { StatementLine, Window } from '../../domain/billing/shapes.ts';
import { gapsIn, isWithin } from '../../domain/billing/usage.ts';
import { ACME, type Billing, PARTNER, startBilling, USED, type Use } from '../application/billing/metered.ts';
import { ALL, customer, overlap, useOf, window } from './billing-support.ts';

/** Any history of usage, cards and invoices: every event is billed or unbilled exactly once, and all sums agree. */

const price = fc.constantFrom('0', '0.5', '1.25', '10', '0.0004', '3.333333');
const rates: fc.Arbitrary<Rates> = fc.dictionary(
  fc.constantFrom(...USED),
  fc.record({ wholesale: price, retail: price, included: fc.constantFrom(0, 1, 3, 100) }),
  { maxKeys: USED.length },
);

const use = useOf('ann', 'ben', 'cy');

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('use' as const),
      uses: fc.array(use, { minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('card' as const), rates }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('generate' as const), window, customer }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('void' as const), nth: fc.nat(20) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const run = async (billing: Billing, uses: Use[], each: Step): Promise<void> => {
  switch (each.kind) {
    case 'use':
      for (const one of each.uses) {
        await billing.use(one);
        uses.push(one);
      }
      return;
    case 'card':
      await billing.put(each.rates);
      return;
    case 'generate': {
      const taken = billing.invoices.some(
        (invoice) => invoice.customer.id === each.customer && overlap(invoice.window, each.window),
      );
      if (!taken) await billing.generate(each.window, each.customer);
      return;
    }
    case 'void': {
      const invoice = billing.invoices[each.nth % Math.max(1, billing.invoices.length)];
      if (invoice !== undefined) billing.discard(invoice);
      return;
    }
    default:
      each satisfies never;
  }
};

const sumOf = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);
const amounts = (lines: readonly StatementLine[]) => ({
  wholesale: sumOf(lines.map((line) => line.wholesale)),
  retail: sumOf(lines.map((line) => line.retail)),
});

/** Checks that statements, both reconciliations and the invoices agree on a window that splits no invoice. */
const checkSums = async (billing: Billing, of: Window): Promise<void> => {
  const statements = await billing.statements.statements(PARTNER, of);
  const all = amounts(statements.flatMap(({ lines }) => lines));
  const begun = billing.invoices.filter((invoice) => isWithin(invoice.window.from, of));
  const invoiced = amounts(begun.flatMap(({ lines }) => lines));
  for (const statement of statements) {
    expect(amounts(statement.lines)).to.include({
      wholesale: statement.totals.wholesale,
      retail: statement.totals.retail,
    });
  }
  for (const scope of ['customer', 'meter'] as const) {
    const { buckets, totals } = await billing.statements.reconciliation(PARTNER, of, scope);
    expect(totals, scope).to.deep.include({ ...all, invoiced });
    expect(totals.margin).to.equal(totals.retail - totals.wholesale);
    for (const kind of ['wholesale', 'retail'] as const) {
      expect(totals[kind], 'invoiced and unbilled').to.equal(totals.invoiced[kind] + totals.unbilled[kind]);
      expect(totals[kind], 'buckets').to.equal(sumOf(buckets.map((bucket) => bucket[kind])));
      expect(totals.unbilled[kind]).to.equal(sumOf(buckets.map((bucket) => bucket.unbilled[kind])));
      for (const bucket of buckets) {
        expect(bucket[kind]).to.equal(bucket.invoiced[kind] + bucket.unbilled[kind]);
      }
    }
  }
};

/** Checks that each counted event is on exactly one line, of an invoice or unbilled. */
const checkCounts = async (billing: Billing, uses: readonly Use[]): Promise<void> => {
  for (const { customer, lines } of await billing.statements.statements(PARTNER, ALL)) {
    for (const meter of USED) {
      const quantity = sumOf(lines.filter((line) => line.meter === meter).map((line) => line.quantity));
      const own = uses.filter((one) => one.tenantId === customer.id);
      if (meter !== 'active_users') {
        expect(quantity, meter).to.equal(own.filter((one) => one.meter === meter).length);
      }
    }
    for (const line of lines) {
      expect(line.quantity).to.be.greaterThan(0);
      expect(line.included + line.billable).to.equal(line.quantity);
      expect(Math.min(line.included, line.billable, line.wholesale, line.retail)).to.be.at.least(0);
    }
  }
};

/** Checks the lines of a window without invoices, event by event. */
const checkLive = async (billing: Billing, uses: readonly Use[], of: Window): Promise<void> => {
  const { rates: card } = await billing.rateCards.get(PARTNER);
  for (const { customer, lines } of await billing.statements.statements(PARTNER, of)) {
    const own = uses.filter((one) => one.tenantId === customer.id);
    const inOrder = own.toSorted((a, b) => (a.at < b.at ? -1 : 1));
    const wanted = new Map<string, readonly [number, number]>();
    const seen = new Set<string>();
    const used = new Map<string, number>();
    for (const { meter, at, user, impersonated } of inOrder) {
      const count = (name: (typeof USED)[number], counts: boolean): void => {
        const month = `${name} ${at.slice(0, 7)}`;
        const before = used.get(month) ?? 0;
        used.set(month, before + 1);
        if (!counts) return;
        const [quantity, billable] = wanted.get(name) ?? [0, 0];
        const isFree = card[name] !== undefined && before < (card[name].included ?? 0);
        wanted.set(name, [quantity + 1, billable + (isFree ? 0 : 1)]);
      };
      if (meter !== 'active_users') count(meter, isWithin(at, of));
      if (impersonated) continue;
      const when = `${isWithin(at, of)} ${isWithin(at, of) ? '' : at.slice(0, 7)} ${user}`;
      if (seen.has(when)) continue;
      seen.add(when);
      count('active_users', isWithin(at, of));
    }
    const shown = new Map(lines.map(({ meter, quantity, billable }) => [meter, [quantity, billable]]));
    expect(Object.fromEntries(shown)).to.deep.equal(Object.fromEntries(wanted));
  }
};

/** Checks that the usage list of a window has exactly the events that the window counts. */
const checkUsage = async (billing: Billing, uses: readonly Use[], of: Window): Promise<void> => {
  const own = uses.filter((one) => one.tenantId === ACME && isWithin(one.at, of));
  for (const meter of USED) {
    const found: string[] = [];
    let after: Parameters<Billing['statements']['usage']>[3]['after'];
    do {
      const page = await billing.statements.usage(PARTNER, ACME, { meter, window: of }, { limit: 3, after });
      found.push(...page.events.map((event) => (meter === 'active_users' ? event.actor.id : event.at)));
      after = page.next;
    } while (after !== undefined);
    const wanted =
      meter === 'active_users'
        ? [...new Set(own.filter((one) => !one.impersonated).map(({ user }) => user))]
        : own.filter((one) => one.meter === meter).map(({ at }) => at);
    expect(found, meter).to.deep.equal(wanted);
  }
};

describe('Any history of partner billing', () => {
  it('bills each event once, and all sums agree', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25, size: 'max' }), async (steps) => {
        const billing = await startBilling();
        const uses: Use[] = [];
        for (const each of steps) {
          await run(billing, uses, each);
          await checkCounts(billing, uses);
        }
        await checkSums(billing, ALL);
        // The windows of invoices, and the windows between them.
        const windows = billing.invoices.map((invoice) => invoice.window);
        const cutting = (of: Window) =>
          windows.some((each) => overlap(each, of) && (each.from < of.from || each.to > of.to));
        for (const of of [...windows, ...gapsIn(ALL, windows)]) {
          if (!cutting(of)) await checkSums(billing, of);
        }
      }),
      { numRuns: 60 },
    );
  }).timeout(240_000);

  it('counts and prices any window without invoices from its events', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(use, { maxLength: 40, size: 'max' }),
        rates,
        window,
        async (history, card, of) => {
          const billing = await startBilling();
          for (const one of history) await billing.use(one);
          await billing.put(card);
          await checkLive(billing, history, of);
          await checkUsage(billing, history, of);
        },
      ),
      { numRuns: 60 },
    );
  }).timeout(240_000);
});
