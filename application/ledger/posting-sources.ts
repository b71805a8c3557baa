import { z } from 'zod';
import type { SourceKind } from '../domain/ledger/rule-sources.ts';
import type { LoggedEvent } from './codec.ts';
import type { StoredEvent } from './ports/event-store.ts';
import { ownerOf } from './streams.ts';
import { noticeOf, WEBHOOK_SOURCES } from './webhooks/envelopes.ts';

/** Which events of the log posting rules apply to, in whose books, and what their payload is (decisions, section 9). */

export interface SourceEvent {
  readonly kind: SourceKind;
  /** Whose rules apply, and whose books they post to. */
  readonly tenantId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** One row of the table: types of the log, and what such an event is to a rule; undefined for none of a rule's. */
export interface EventSource {
  readonly types: readonly string[];
  readonly read: (event: LoggedEvent) => SourceEvent | undefined | Promise<SourceEvent | undefined>;
}

/** What webhooks are told of, with the same data. */
const notices: EventSource = {
  types: WEBHOOK_SOURCES,
  read: (event) => {
    const notice = noticeOf(event);
    return notice && { kind: notice.event, tenantId: event.tenantId, payload: notice.data };
  },
};

const amounts = z.object({ wholesale: z.number(), retail: z.number(), margin: z.number() });

/** Of an issued invoice, what rules see; more is left out. */
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
export type IssuedInvoice = z.output<typeof issuedInvoice>;

const PARTNER = 'partner_';

/** Invoices of partners, in the books of the partner's own tenant; a partner without one has none. */
const partnerInvoices = (homeTenantOf: HomeTenantOf): EventSource => ({
  types: ['InvoiceIssued'],
  read: async (event) => {
    if (!event.tenantId.startsWith(PARTNER)) return undefined;
    const tenantId = await homeTenantOf(event.tenantId.slice(PARTNER.length));
    if (tenantId === undefined) return undefined;
    return { kind: 'partner_invoice.issued', tenantId, payload: issuedInvoice.parse(event.data) };
  },
});

/** The tenant that holds a partner's books. */
export type HomeTenantOf = (partnerId: string) => Promise<string | undefined>;

/** The table, ready to be asked. */
export class PostingSources {
  readonly types: readonly string[];
  readonly #byType: ReadonlyMap<string, EventSource>;

  constructor(homeTenantOf: HomeTenantOf) {
    const all = [notices, partnerInvoices(homeTenantOf)];
    this.#byType = new Map(all.flatMap((source) => source.types.map((type) => [type, source] as const)));
    this.types = [...this.#byType.keys()];
  }

  /** Whose rules apply to an event, where that is told without decoding it; those of most sources do. */
  tenantOf({ type, stream }: StoredEvent): string | undefined {
    return this.#byType.get(type) === notices ? ownerOf(stream) : undefined;
  }

  /** Undefined for an event that is no source. */
  read(event: LoggedEvent): SourceEvent | undefined | Promise<SourceEvent | undefined> {
    return this.#byType.get(event.type)?.read(event);
  }
}
