import { expect } from 'chai';
import { forSuite } from '../../support/suite.ts';
import { startWorld } from '../../support/world.ts';
import { create } from '../entities/support.ts';
import { makeRule, withSales } from '../ledger/rules-support.ts';
import { allDone, doneAfter, numbers, pooled } from './busy-tenant.ts';

const RULES = 8;
/** More events than a subscriber handles together. */
const RECORDS = 200;
const LINES = numbers(10).flatMap(() => [
  { account_code: '1000', side: 'debit', amount: { fixed: 1 } },
  { account_code: '4000', side: 'credit', amount: { fixed: 1 } },
]);

describe('many posting rules in one tenant', () => {
  const here = forSuite(async () => {
    const world = await startWorld();
    return { world, busy: await withSales(world), quiet: await withSales(world) };
  });

  it("do not delay another tenant's rule, and all are applied once", async () => {
    const { world, busy, quiet } = here();
    await pooled(numbers(RULES), 8, (n) => makeRule(busy.tenant.admin.api, { name: `R ${n}`, lines: LINES }));
    await makeRule(quiet.tenant.admin.api);
    await pooled(numbers(RECORDS), 8, () => create(busy.tenant.admin, busy.entity));
    await create(quiet.tenant.admin, quiet.entity, { total: 5 });
    await allDone(world, quiet.tenant, 'EntryPosted', 1, 20_000);
    await allDone(world, busy.tenant, 'EntryPosted', RULES * RECORDS, 60_000);
    const after = await doneAfter(world, 'EntryPosted', { quiet: quiet.tenant, busy: busy.tenant });
    expect(after).to.be.greaterThan((RULES * RECORDS) / 4);
  }).timeout(120_000);
});
