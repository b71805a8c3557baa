/** What partner billing speaks of (decisions, section 10). Money is minor units of the rate card's currency. */

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
export interface Window {
  readonly from: string;
  readonly to: string;
}

export interface StatementLine {
  readonly meter: Meter;
  readonly quantity: number;
  /** How many of them the card includes. */
  readonly included: number;
  readonly billable: number;
  /** Decimal text of minor units, up to 6 places; null where the card does not price the meter. */
  readonly wholesale_rate: string | null;
  readonly retail_rate: string | null;
  /** Minor units, rounded once, half-even. */
  readonly wholesale: number;
  readonly retail: number;
  readonly item_name: string;
  readonly item_description: string;
  readonly unrated?: true;
  /** Usage that became known after its window was invoiced; `window` is where it belongs. */
  readonly late?: true;
  readonly window?: Window;
}

export interface Totals {
  readonly wholesale: number;
  readonly retail: number;
  readonly margin: number;
  /** Two decimals; null when retail is 0. */
  readonly margin_pct: number | null;
}

/** What an invoice holds for ever once it was generated. */
export interface FrozenInvoice {
  readonly id: string;
  readonly customer: { readonly id: string; readonly name: string };
  readonly window: Window;
  readonly revision: number;
  readonly currency: string;
  readonly lines: readonly StatementLine[];
  readonly totals: Totals;
  readonly rate_card_version: number;
  readonly generated_at: string;
}
