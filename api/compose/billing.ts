import { MeteredUsage } from '../../application/billing/metered-usage.ts';
import { RateCards } from '../../application/billing/rate-cards.ts';
import { Statements } from '../../application/billing/statements.ts';
import type { PartnerDirectory } from '../../application/partner-directory.ts';
import { activeOf, daysOf } from '../../projections/metering.ts';
import { customersOf } from '../../projections/tenants.ts';
import type { Core } from './core.ts';
import { invoiceBookIn } from './invoices.ts';

/** Partner billing: rate cards, metering, statements and what they are summed up to. */
export interface BillingArea {
  readonly rateCards: RateCards;
  readonly statements: Statements;
}

export const composeBilling = (core: Core, partners: PartnerDirectory): BillingArea => {
  const { commands, states, stores, codec, clock, directory, readModels } = core;
  const invoices = invoiceBookIn(core);
  const metering = readModels.reader('metering');
  const rateCards = new RateCards({ commands, states, directory, partners, invoices });
  const usage = new MeteredUsage({
    model: {
      days: (tenantId, range) => daysOf(metering, tenantId, range),
      active: (tenantId, range) => activeOf(metering, tenantId, range),
    },
    events: stores.events,
    codec,
  });
  const statements = new Statements({
    usage,
    counted: async (customerId, through) => {
      await readModels.waitFor(customerId, ['metering'], through);
    },
    head: () => stores.events.head(),
    customersOf: (partnerId) => customersOf(readModels.reader('tenants'), partnerId),
    invoices,
    rateCards,
    states,
    directory,
    partners,
    clock,
  });
  return { rateCards, statements };
};
