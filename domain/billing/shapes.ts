import { z } from 'zod';

/**
 * Shapes of partner billing (decisions, section 10), as events store them and decisions use them. Money is in minor
 * units of the rate card's currency.
 */

export const METERS = [
  'active_users',
  'jobs_started',
  'job_transitions',
  'records_created',
  'forms_submitted',
  'messages_sent',
  'webhooks_delivered',
  'assistant_questions',
] as const;
export type Meter = (typeof METERS)[number];

/** Instants (RFC 3339, UTC, milliseconds), `[from, to)`. */
export const windowSchema = z.object({ from: z.string(), to: z.string() });
export type Window = Readonly<z.output<typeof windowSchema>>;

const lineSchema = z.object({
  meter: z.enum(METERS),
  quantity: z.number(),
  /** Units that the card gives free of charge. */
  included: z.number(),
  billable: z.number(),
  /** Decimal text of minor units, up to 6 places; null where the card has no price for the meter. */
  wholesale_rate: z.string().nullable(),
  retail_rate: z.string().nullable(),
  /** Minor units, rounded once, half-even. */
  wholesale: z.number(),
  retail: z.number(),
  item_name: z.string(),
  item_description: z.string(),
  unrated: z.exactOptional(z.literal(true)),
  /** Marks usage that became known after its window was invoiced; `window` is that invoiced window. */
  late: z.exactOptional(z.literal(true)),
  window: z.exactOptional(windowSchema),
});
export type StatementLine = Readonly<z.output<typeof lineSchema>>;

const totalsSchema = z.object({
  wholesale: z.number(),
  retail: z.number(),
  margin: z.number(),
  /** Two decimals; null when retail is 0. */
  margin_pct: z.number().nullable(),
});
export type Totals = Readonly<z.output<typeof totalsSchema>>;

/** The part of an invoice that is fixed when it is generated; `InvoiceIssued` repeats it. */
export const contentSchema = z.object({
  /** `<customer id>-<n>`: unique among all invoices of a partner, including void ones. */
  number: z.string(),
  partner: z.object({ id: z.string(), name: z.string() }),
  customer: z.object({ id: z.string(), name: z.string() }),
  window: windowSchema,
  revision: z.number(),
  currency: z.string(),
  lines: z.array(lineSchema),
  totals: totalsSchema,
  rate_card_version: z.number(),
});
export type Content = Readonly<z.output<typeof contentSchema>>;

/** A generated invoice as statements read it. */
export interface FrozenInvoice extends Omit<Content, 'number' | 'partner' | 'lines'> {
  readonly id: string;
  readonly lines: readonly StatementLine[];
  readonly generated_at: string;
}
