import { z } from 'zod';
import type { SourceKind } from '../../domain/ledger/rule-sources.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf } from '../core/events/stream-name.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import { WEBHOOK_SOURCES, webhookDataOf } from '../webhooks/event-data.ts';

/** An event that posting rules apply to, with its payload (decisions, section 9). */

export interface SourceEvent {
  readonly kind: SourceKind;
  /** The tenant whose rules apply and whose journal they post to. */
  readonly tenantId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A kind of source: its event types, and how to read an event; undefined for an event that no rule applies to. */
export interface EventSource {
  readonly types: readonly string[];
  readonly read: (event: LoggedEvent) => SourceEvent | undefined | Promise<SourceEvent | undefined>;
}

/** The events that webhooks deliver, with the same data. */
const notices: EventSource = {
  types: WEBHOOK_SOURCES,
  read: (event) => {
    const content = webhookDataOf(event);
    return content && { kind: content.event, tenantId: event.tenantId, payload: content.data };
  },
};

const amounts = z.object({ wholesale: z.number(), retail: z.number(), margin: z.number() });

/** The fields of an issued invoice that rules can use. */
const issuedInvoice = z.object({
  invoice_id: z.string(),
  number: z.unknown(),
  customer: z.object({ id: z.string(), name: z.string() }),
  window: z.object({ from: z.string(), to: z.string() }),
  revision: z.number(),
  currency: z.string(),
  totals: amounts,
  upstream_ref: z.unknown(),
  issued_at: z.string(),
});

const PARTNER = 'partner_';

/** Invoices of partners, for the ledger of the partner's home tenant, if any. */
const partnerInvoices = (homeTenantOf: HomeTenantOf): EventSource => ({
  types: ['InvoiceIssued'],
  read: async (event) => {
    if (!event.tenantId.startsWith(PARTNER)) return undefined;
    const tenantId = await homeTenantOf(event.tenantId.slice(PARTNER.length));
    if (tenantId === undefined) return undefined;
    return { kind: 'partner_invoice.issued', tenantId, payload: issuedInvoice.parse(event.data) };
  },
});

/** The tenant whose ledger is the partner's. */
export type HomeTenantOf = (partnerId: string) => Promise<string | undefined>;

export class PostingSources {
  readonly types: readonly string[];
  readonly #byType: ReadonlyMap<string, EventSource>;

  constructor(homeTenantOf: HomeTenantOf) {
    const all = [notices, partnerInvoices(homeTenantOf)];
    this.#byType = new Map(all.flatMap((source) => source.types.map((type) => [type, source] as const)));
    this.types = [...this.#byType.keys()];
  }

  /** The tenant whose rules apply, if known without decoding the event. */
  tenantOf({ type, stream }: StoredEvent): string | undefined {
    return this.#byType.get(type) === notices ? ownerOf(stream) : undefined;
  }

  /** Undefined for an event of another type. */
  read(event: LoggedEvent): SourceEvent | undefined | Promise<SourceEvent | undefined> {
    return this.#byType.get(event.type)?.read(event);
  }
}
