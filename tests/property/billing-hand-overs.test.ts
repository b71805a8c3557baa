import { expect } from 'chai';
import fc from 'fast-check';
import type { StatementLine, Window } from '../../domain/billing/shapes.ts';
import { isWithin } from '../../domain/billing/usage.ts';
import {
  ACME,
  BETA,
  type Billing,
  PARTNER,
  SOUTH,
  startBilling,
  USED,
  type Use,
} from '../application/billing/metered.ts';
import { ALL, customer, instantAt, overlap, STEPS, useOf, window } from './billing-support.ts';

/** For any history of hand-overs: each unit of usage is billed only by the tenant's partner at that time. */

const PARTNERS = [PARTNER, SOUTH] as const;
const COUNTS = USED.filter((meter) => meter !== 'active_users');

const using = fc.record({
  kind: fc.constant('use' as const),
  uses: fc.array(useOf('ann', 'ben', 'cy'), { minLength: 1, maxLength: 6 }),
});
const handingOver = fc.record({
  kind: fc.constant('hand over' as const),
  customer,
  partner: fc.constantFrom(PARTNER, SOUTH, null),
  /** Steps since the previous hand-over; often 0, so that several share a day or a millisecond. */
  after: fc.constantFrom(0, 0, 1, 2, 10, 40),
  more: fc.constantFrom(0, 1),
});
const generating = fc.record({
  kind: fc.constant('generate' as const),
  window,
  customer,
  partner: fc.constantFrom(...PARTNERS),
});
const voiding = fc.record({
  kind: fc.constant('void' as const),
  partner: fc.constantFrom(...PARTNERS),
  nth: fc.nat(20),
});

const change = fc.oneof({ weight: 4, arbitrary: using }, { weight: 3, arbitrary: handingOver });
const step = fc.oneof(
  { weight: 4, arbitrary: using },
  { weight: 3, arbitrary: handingOver },
  { weight: 2, arbitrary: generating },
  { weight: 1, arbitrary: voiding },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

interface Owned extends Use {
  /** The partner that bills the use. */
  readonly owner: string | null;
}

/** A history of uses and hand-overs in the order of the log, with the partner that owns each use. */
class History {
  readonly uses: Owned[] = [];
  readonly #handOvers: { at: string; tenantId: string; partner: string | null }[] = [];
  #step = 0;

  use(one: Use): void {
    const last = this.#handOvers.findLast(
      ({ tenantId, at }) => tenantId === (one.tenantId ?? ACME) && at <= one.at,
    );
    this.uses.push({ ...one, owner: last === undefined ? PARTNER : last.partner });
  }

  /** @returns the instant of the hand-over, never before the tenant's previous hand-over */
  handOver(tenantId: string, partner: string | null, after: number, more: number): string {
    this.#step = Math.min(STEPS - 1, this.#step + after);
    const before = this.#handOvers.findLast((each) => each.tenantId === tenantId)?.at ?? '';
    const [, at = before] = [before, instantAt(this.#step, more)].sort();
    this.#handOvers.push({ at, tenantId, partner });
    return at;
  }

  of(partnerId: string, tenantId: string, meter: string, inWindow: Window = ALL): readonly Owned[] {
    return this.uses.filter(
      (one) =>
        one.owner === partnerId &&
        one.tenantId === tenantId &&
        isWithin(one.at, inWindow) &&
        (meter === 'active_users' ? one.impersonated !== true : one.meter === meter),
    );
  }
}

const run = async (billing: Billing, history: History, each: Step): Promise<void> => {
  switch (each.kind) {
    case 'use':
      for (const one of each.uses) {
        await billing.use(one);
        history.use(one);
      }
      return;
    case 'hand over': {
      const at = history.handOver(each.customer, each.partner, each.after, each.more);
      await billing.handOver(at, each.partner, { tenantId: each.customer });
      return;
    }
    case 'generate': {
      const isKnown = history.of(each.partner, each.customer, 'active_users').length > 0;
      const isTaken = billing
        .invoicesOf(each.partner)
        .some((one) => one.customer.id === each.customer && overlap(one.window, each.window));
      if (isKnown && !isTaken) await billing.generate(each.window, each.customer, each.partner);
      return;
    }
    case 'void': {
      const invoices = billing.invoicesOf(each.partner);
      const invoice = invoices[each.nth % Math.max(1, invoices.length)];
      if (invoice !== undefined) billing.discard(invoice);
      return;
    }
    default:
      each satisfies never;
  }
};

const sumOf = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0);
const quantityOf = (lines: readonly StatementLine[], meter: string): number =>
  sumOf(lines.filter((line) => line.meter === meter).map(({ quantity }) => quantity));

const linesOf = async (billing: Billing, partnerId: string, tenantId: string, of: Window) =>
  (await billing.statements.statements(partnerId, of)).find(({ customer: { id } }) => id === tenantId)?.lines;

/** Checks that the lines of all partners hold each use once, and that reconciliation has the statements' sums. */
const checkBilled = async (billing: Billing, history: History): Promise<void> => {
  for (const meter of COUNTS) {
    for (const tenantId of [ACME, BETA]) {
      let billed = 0;
      for (const partnerId of PARTNERS) {
        const quantity = quantityOf((await linesOf(billing, partnerId, tenantId, ALL)) ?? [], meter);
        expect(quantity, `${meter} of ${partnerId}`).to.equal(history.of(partnerId, tenantId, meter).length);
        billed += quantity;
      }
      const owned = history.uses.filter(
        (one) => one.owner !== null && one.tenantId === tenantId && one.meter === meter,
      );
      expect(billed).to.equal(owned.length);
    }
  }
  for (const partnerId of PARTNERS) {
    const statements = await billing.statements.statements(partnerId, ALL);
    for (const scope of ['customer', 'meter'] as const) {
      const { totals } = await billing.statements.reconciliation(partnerId, ALL, scope);
      for (const kind of ['wholesale', 'retail'] as const) {
        expect(totals[kind]).to.equal(sumOf(statements.map((each) => each.totals[kind])));
      }
    }
  }
};

/** Checks quantities, the included part and listed events of a window against the partner's own events. */
const checkWindow = async (billing: Billing, history: History, of: Window, free: number): Promise<void> => {
  for (const partnerId of PARTNERS) {
    if ((await linesOf(billing, partnerId, ACME, ALL)) === undefined) {
      expect(USED.flatMap((meter) => history.of(partnerId, ACME, meter))).to.deep.equal([]);
      continue;
    }
    const { lines } = await billing.statements.draft(partnerId, ACME, of);
    expect((await linesOf(billing, partnerId, ACME, of)) ?? lines).to.deep.equal(lines);
    for (const meter of USED) {
      const own = history.of(partnerId, ACME, meter, of);
      const isUsers = meter === 'active_users';
      const wanted = isUsers ? [...new Set(own.map(({ user }) => user))] : own.map(({ at }) => at);
      expect(quantityOf(lines, meter), meter).to.equal(wanted.length);
      const page = await billing.statements.usage(
        partnerId,
        ACME,
        { meter, window: of },
        { limit: 1000, after: undefined },
      );
      expect(page.events.map(({ at, actor }) => (isUsers ? actor.id : at))).to.deep.equal(wanted);
      if (isUsers) continue;
      const months = Map.groupBy(
        history.of(partnerId, ACME, meter).toSorted((a, b) => (a.at < b.at ? -1 : 1)),
        ({ at }) => at.slice(0, 7),
      );
      const billable = [...months.values()].flatMap((month) =>
        month.slice(free).filter(({ at }) => isWithin(at, of)),
      );
      expect(sumOf(lines.filter((line) => line.meter === meter).map((line) => line.billable))).to.equal(
        billable.length,
      );
    }
  }
};

const start = async (free: number): Promise<Billing> => {
  const billing = await startBilling();
  const rate = { wholesale: '1', retail: '2', included: free };
  for (const partnerId of PARTNERS) {
    await billing.put(Object.fromEntries(USED.map((meter) => [meter, rate])), 'EUR', partnerId);
  }
  return billing;
};

describe('Any history of hand-overs', () => {
  it('has each unit of usage billed once, by the tenant’s partner at that time', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 30, size: 'max' }), async (steps) => {
        const billing = await start(1);
        const history = new History();
        for (const each of steps) await run(billing, history, each);
        await checkBilled(billing, history);
      }),
      { numRuns: 60 },
    );
  }).timeout(240_000);

  it('has any window counted, included and listed by each partner from events of its own tenures', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 2, maxLength: 25, size: 'max' }),
        window,
        fc.constantFrom(0, 1, 3),
        async (steps, of, free) => {
          const billing = await start(free);
          const history = new History();
          for (const each of steps) await run(billing, history, each);
          await checkWindow(billing, history, of, free);
          await checkWindow(billing, history, ALL, free);
        },
      ),
      { numRuns: 60 },
    );
  }).timeout(240_000);
});
