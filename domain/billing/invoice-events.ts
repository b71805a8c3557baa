import { z } from 'zod';
import { defineEvent, type EventOf } from '../event.ts';
import { METERS } from './shapes.ts';

/** The events of `partner_<p>.invoices-<customer>` (domain/billing/invoice.ts). Money is minor units of `currency`. */

const window = z.object({ from: z.string(), to: z.string() });

const line = z.object({
  meter: z.enum(METERS),
  quantity: z.number(),
  included: z.number(),
  billable: z.number(),
  wholesale_rate: z.string().nullable(),
  retail_rate: z.string().nullable(),
  wholesale: z.number(),
  retail: z.number(),
  item_name: z.string(),
  item_description: z.string(),
  unrated: z.exactOptional(z.literal(true)),
  late: z.exactOptional(z.literal(true)),
  window: z.exactOptional(window),
});

const totals = z.object({
  wholesale: z.number(),
  retail: z.number(),
  margin: z.number(),
  margin_pct: z.number().nullable(),
});

/** What is frozen when an invoice is generated, and told again when it is issued. */
const frozen = {
  invoice_id: z.string(),
  /** `<customer id>-<n>`: unique among a partner's invoices, those that are void included. */
  number: z.string(),
  partner: z.object({ id: z.string(), name: z.string() }),
  customer: z.object({ id: z.string(), name: z.string() }),
  window,
  revision: z.number(),
  currency: z.string(),
  lines: z.array(line),
  totals,
  rate_card_version: z.number(),
};

export const InvoiceGenerated = defineEvent(
  'InvoiceGenerated',
  z.object({
    ...frozen,
    /** How far in the log usage was counted. */
    through: z.string().optional(),
  }),
);

const one = { invoice_id: z.string(), revision: z.number() };

/** The intent, stored before anybody is called. */
export const InvoiceIssueStarted = defineEvent(
  'InvoiceIssueStarted',
  z.object({
    ...one,
    /** How often issuing was begun, this time included. */
    attempt: z.number(),
  }),
);

/** There is no answer yet; told when that is so for a new reason. */
export const InvoiceIssueDelayed = defineEvent(
  'InvoiceIssueDelayed',
  z.object({ ...one, attempt: z.number(), error: z.string() }),
);

export const InvoiceIssueRefused = defineEvent(
  'InvoiceIssueRefused',
  z.object({ ...one, attempt: z.number(), error: z.string() }),
);

/** Complete by itself: posting rules of the ledger read it. */
export const InvoiceIssued = defineEvent(
  'InvoiceIssued',
  z.object({ ...frozen, upstream_ref: z.string(), issued_at: z.string() }),
);

export const InvoiceVoided = defineEvent('InvoiceVoided', z.object({ ...one, window }));

export const invoiceEvents = [
  InvoiceGenerated,
  InvoiceIssueStarted,
  InvoiceIssueDelayed,
  InvoiceIssueRefused,
  InvoiceIssued,
  InvoiceVoided,
] as const;
export type InvoiceEvent = EventOf<(typeof invoiceEvents)[number]>;
