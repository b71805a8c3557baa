import { z } from 'zod';
import type { Invoice } from '../../../domain/billing/invoice-view.ts';
import { METERS } from '../../../domain/billing/shapes.ts';
import { timestamp } from '../../http/schemas.ts';

/** Invoices as the partner portal shows them (decisions, section 10). */

export const INVOICE_STATES = ['generated', 'issuing', 'issued', 'void'] as const;

export const window = z.object({ from: timestamp, to: timestamp });
export const money = z.int().meta({ description: 'Minor units.' });
const rate = z.string().nullable().meta({ description: 'Minor units, up to 6 decimals.' });

export const line = z
  .object({
    meter: z.enum(METERS),
    quantity: z.int(),
    included: z.int(),
    billable: z.int(),
    wholesale_rate: rate,
    retail_rate: rate,
    wholesale: money,
    retail: money,
    item_name: z.string(),
    item_description: z.string(),
    unrated: z.literal(true).optional(),
    late: z.literal(true).optional().meta({ description: 'Usage of an earlier window, `window`.' }),
    window: window.optional(),
  })
  .meta({ id: 'InvoiceLine' });

export const totals = z.object({
  wholesale: money,
  retail: money,
  margin: money,
  margin_pct: z.number().nullable(),
});

export const invoiceView = z
  .object({
    id: z.string(),
    number: z.string(),
    customer: z.object({ id: z.string(), name: z.string() }),
    window,
    state: z.enum(INVOICE_STATES),
    revision: z.int(),
    currency: z.string(),
    lines: z.array(line),
    totals,
    rate_card_version: z.int(),
    generated_at: timestamp,
    issued_at: timestamp.optional(),
    upstream_ref: z.string().optional(),
    last_error: z.string().optional().meta({ description: 'Why the invoice could not be issued.' }),
    voided_at: timestamp.optional(),
  })
  .meta({ id: 'PartnerInvoice' });

/** Leaves out the log position, and the partner, which is the caller. */
export const viewOfInvoice = ({
  through: _through,
  partner: _partner,
  ...invoice
}: Invoice): Omit<Invoice, 'through' | 'partner'> => invoice;
