import type { FrozenInvoice } from '../../domain/billing/shapes.ts';

/** The invoices of partners that are not void; statements do not bill them again. */
export interface InvoiceBook {
  /** Invoices of one customer, also after a hand-over. */
  live(partnerId: string, customerId: string): Promise<readonly FrozenInvoice[]>;
  allLive(partnerId: string): Promise<readonly FrozenInvoice[]>;
}
