import type { FrozenInvoice } from '../../domain/billing/shapes.ts';

/** The live (not void) invoices of partners. Statements do not bill the usage of a live invoice again. */
export interface InvoiceBook {
  /** Live invoices of one customer, also after the customer's hand-over to another partner. */
  live(partnerId: string, customerId: string): Promise<readonly FrozenInvoice[]>;
  allLive(partnerId: string): Promise<readonly FrozenInvoice[]>;
}
