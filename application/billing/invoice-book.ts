import type { FrozenInvoice } from '../../domain/billing/shapes.ts';

/** The invoices of partners that are not void: what statements must not bill again. */
export interface InvoiceBook {
  /** Of one customer, whoever's it is by now. */
  live(partnerId: string, customerId: string): Promise<readonly FrozenInvoice[]>;
  allLive(partnerId: string): Promise<readonly FrozenInvoice[]>;
}
