import { expect } from 'chai';
import fc from 'fast-check';
import type { StatementLine } from '../../domain/billing/shapes.ts';
import { isWithin } from '../../domain/billing/usage.ts';
import { ACME, type Billing, PARTNER, startBilling, USED, type Use } from '../application/billing/metered.ts';
import { ALL, overlap, useOf, window } from './billing-support.ts';

/** One card for a whole history: included units are granted once, with any invoices, void ones and late usage. */

const RATE = { wholesale: '1', retail: '1' };

const use = useOf('ann', 'ben', 'cy', 'dee');
const uses = fc.array(use, { minLength: 5, maxLength: 60, size: 'max' });
const included = fc.constantFrom(0, 1, 2, 5);

const invoicing = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('generate' as const), window }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('void' as const), nth: fc.nat(20) }) },
);
type Invoicing = typeof invoicing extends fc.Arbitrary<infer T> ? T : never;

const start = async (free: number): Promise<Billing> => {
  const billing = await startBilling();
  await billing.put(Object.fromEntries(USED.map((meter) => [meter, { ...RATE, included: free }])));
  return billing;
};

const apply = async (billing: Billing, step: Invoicing): Promise<void> => {
  if (step.kind === 'void') {
    const invoice = billing.invoices[step.nth % Math.max(1, billing.invoices.length)];
    if (invoice !== undefined) billing.discard(invoice);
    return;
  }
  const own = billing.invoices.filter(({ customer }) => customer.id === ACME);
  if (!own.some((each) => overlap(each.window, step.window))) await billing.generate(step.window);
};

const sumOf = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);
const linesOf = async (billing: Billing): Promise<readonly StatementLine[]> =>
  (await billing.statements.statements(PARTNER, ALL)).find(({ customer }) => customer.id === ACME)?.lines ??
  [];
const billedOf = (lines: readonly StatementLine[], meter: string): number =>
  sumOf(lines.filter((line) => line.meter === meter).map(({ billable }) => billable));

/** Usage above the included part of each month, event by event. */
const aboveOf = (history: readonly Use[], meter: string, free: number): number => {
  const own = history.filter((one) => one.tenantId === ACME && one.meter === meter);
  const months = Map.groupBy(own, ({ at }) => at.slice(0, 7));
  return sumOf([...months.values()].map((month) => Math.max(0, month.length - free)));
};
const COUNTS = USED.filter((meter) => meter !== 'active_users');

describe('The included units of a card', () => {
  it('are granted once a month, for any division into invoices, also void ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        uses,
        included,
        fc.array(invoicing, { maxLength: 12 }),
        async (history, free, steps) => {
          const billing = await start(free);
          for (const one of history) await billing.use(one);
          for (const step of steps) {
            await apply(billing, step);
            const lines = await linesOf(billing);
            for (const meter of COUNTS) {
              expect(billedOf(lines, meter), meter).to.equal(aboveOf(history, meter, free));
            }
          }
        },
      ),
      { numRuns: 80 },
    );
  }).timeout(240_000);

  it('are never billed, even for late usage', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(uses, invoicing), { minLength: 1, maxLength: 6 }),
        included,
        async (rounds, free) => {
          const billing = await start(free);
          const history: Use[] = [];
          for (const [some, step] of rounds) {
            for (const one of some) await billing.use(one);
            history.push(...some);
            await apply(billing, step);
            const lines = await linesOf(billing);
            for (const meter of COUNTS) {
              expect(billedOf(lines, meter), meter).to.be.at.most(aboveOf(history, meter, free));
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  }).timeout(240_000);
});

describe('A person', () => {
  it('is on one line for the window of an invoice: a line of that invoice or a late line', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(uses, window), { minLength: 1, maxLength: 6 }),
        included,
        async (rounds, free) => {
          const billing = await start(free);
          const history: Use[] = [];
          for (const [some, of] of rounds) {
            for (const one of some) await billing.use(one);
            history.push(...some);
            await apply(billing, { kind: 'generate', window: of });
            const lines = (await linesOf(billing)).filter(({ meter }) => meter === 'active_users');
            for (const invoice of billing.invoices) {
              const own = invoice.lines.filter((line) => line.meter === 'active_users' && !line.late);
              const late = lines.filter((line) => line.window?.from === invoice.window.from);
              const people = history.filter(
                (one) => one.tenantId === ACME && !one.impersonated && isWithin(one.at, invoice.window),
              );
              expect(sumOf([...own, ...late].map(({ quantity }) => quantity))).to.equal(
                new Set(people.map(({ user }) => user)).size,
              );
            }
          }
        },
      ),
      { numRuns: 60 },
    );
  }).timeout(240_000);
});
