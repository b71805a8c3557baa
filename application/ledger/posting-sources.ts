import { InvoiceIssued } from '../../domain/billing/invoice.ts';
import type { SourceKind } from '../../domain/ledger/rule-sources.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf } from '../core/events/stream-name.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import { WEBHOOK_SOURCES, webhookDataOf } from '../webhooks/event-data.ts';

/**
 * Events that posting rules apply to (decisions, section 9): those that webhooks deliver, with the same data, and
 * issued invoices of partners, for the ledger of the partner's home tenant.
 */

export interface SourceEvent {
  readonly kind: SourceKind;
  /** The tenant whose rules apply and whose journal they post to. */
  readonly tenantId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export const SOURCE_TYPES: readonly string[] = [...WEBHOOK_SOURCES, InvoiceIssued.type];

const PARTNER = 'partner_';

/**
 * An event's name and data as webhooks deliver them, for its own tenant; of an issued invoice those of the invoice, for the
 * partner's home tenant. Undefined for an event that no rule applies to.
 */
export const readSource = async (
  event: LoggedEvent,
  partners: PartnerDirectory,
): Promise<SourceEvent | undefined> => {
  const invoice = dataOf(InvoiceIssued, event);
  if (invoice === undefined) {
    const content = webhookDataOf(event);
    return content && { kind: content.event, tenantId: event.tenantId, payload: content.data };
  }
  if (!event.tenantId.startsWith(PARTNER)) return undefined;
  const partner = await partners.find(event.tenantId.slice(PARTNER.length));
  const tenantId = partner?.home_tenant_id;
  if (tenantId === undefined || tenantId === null) return undefined;
  const { invoice_id, number, customer, window, revision, currency, upstream_ref, issued_at } = invoice;
  const { wholesale, retail, margin } = invoice.totals;
  const totals = { wholesale, retail, margin };
  const payload = {
    invoice_id,
    number,
    customer,
    window,
    revision,
    currency,
    totals,
    upstream_ref,
    issued_at,
  };
  return { kind: 'partner_invoice.issued', tenantId, payload };
};

/** The tenant whose rules apply, if known without decoding the event. */
export const ruleTenantOf = ({ type, stream }: StoredEvent): string | undefined =>
  WEBHOOK_SOURCES.some((source) => source === type) ? ownerOf(stream) : undefined;
