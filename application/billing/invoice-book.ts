import type { FrozenInvoice } from '../../domain/billing/shapes.ts';

/** The live invoices of partners: all except void ones. Statements do not bill their usage again. */
export interface InvoiceBook {
  /** Live invoices of one customer, also after the customer's hand-over to another partner. */
  live(partnerId: string, customerId: string): Promise<readonly FrozenInvoice[]>;
  allLive(partnerId: string): Promise<readonly FrozenInvoice[]>;
}
