import { MeteredUsage } from '../../application/billing/metered-usage.ts';
import { RateCards } from '../../application/billing/rate-cards.ts';
import { Statements } from '../../application/billing/statements.ts';
import { customerById, customersOf } from '../../projections/billing/customers.ts';
import { activeOf, daysOf } from '../../projections/billing/metering.ts';
import { billingRoutes } from '../routes/billing/billing.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import { invoiceBookIn } from './invoices.ts';
import type { PartnersArea } from './partners.ts';

/** Partner billing: rate cards, metering, statements and reconciliation. */
export const composeBilling = (core: Core, { partnerDirectory: partners }: PartnersArea) => {
  const { events, readModels } = core;
  const invoices = invoiceBookIn(core);
  const metering = readModels.reader('metering');
  const rateCards = new RateCards({ ...core, partners, invoices });
  const usage = new MeteredUsage({
    ...core,
    model: {
      tenures: async (partnerId, tenantId) =>
        (await customerById(metering, partnerId, tenantId))?.tenures ?? [],
      days: (tenantId, range) => daysOf(metering, tenantId, range),
      active: (tenantId, range) => activeOf(metering, tenantId, range),
    },
  });
  const statements = new Statements({
    ...core,
    usage,
    counted: async (tenantId, through) => {
      await readModels.requirePresentVersion('metering');
      await readModels.waitFor(tenantId, ['metering'], through);
    },
    end: () => events.end(),
    customersOf: (partnerId, window) => customersOf(metering, partnerId, window),
    customerOf: (partnerId, customerId) => customerById(metering, partnerId, customerId),
    invoices,
    rateCards,
    partners,
  });
  return {
    rateCards,
    statements,
    routes: billingRoutes({ ...core, rateCards, statements }),
  } satisfies Area & Record<string, unknown>;
};
