import { expect } from 'chai';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { causeOf } from '../../support/book.ts';
import { ticksDuring } from '../../support/ticks.ts';
import { between, PARTNER, startBilling } from './metered.ts';

const NOVEMBER = between('2026-11-01', '2026-12-01');

describe('Statements of many customers', () => {
  it('let other work run while they are made', async () => {
    const billing = await startBilling();
    for (let nth = 0; nth < 60; nth += 1) {
      const id = `customer-${nth}`;
      await billing.commands.execute({
        tenantId: PLATFORM,
        type: tenantStream,
        id,
        cause: causeOf(id),
        decide: (state) =>
          createTenant(state, {
            tenantId: id,
            name: id,
            plan: 'pro',
            partner_id: PARTNER,
            entitlements: { ledger: false, assistant: false },
            currency: 'EUR',
            timezone: 'UTC',
          }),
      });
    }
    await billing.statements.statements(PARTNER, NOVEMBER);
    const ticks = await ticksDuring(async () => {
      expect(await billing.statements.statements(PARTNER, NOVEMBER)).to.have.length(62);
    });
    expect(ticks).to.be.at.least(10);
  });
});
