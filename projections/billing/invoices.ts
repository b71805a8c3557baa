import type { InvoiceEvent } from '../../domain/billing/invoice.ts';
import { foldInvoice, type Invoice, type InvoiceState } from '../../domain/billing/invoice-view.ts';
import { collection, platformCollection } from '../../domain/core/collection.ts';
import {
  type DocumentReader,
  type Page,
  type PageRequest,
  type ProjectedEvent,
  projection,
  type Touch,
} from '../../domain/core/projection.ts';

/** Invoices of partners (decisions, section 10), stored under `partner_<id>` like their streams. */

export interface InvoiceDoc {
  readonly invoice: Invoice;
  readonly generated_at: string;
  /** One value for each filter that matches the invoice. */
  readonly facets: readonly string[];
}

/** An invoice that is being issued, stored under the platform so that the worker finds the invoices of all partners. */
export interface IssuingDoc {
  /** `partner_<id>` */
  readonly scope: string;
  readonly customer_id: string;
  readonly invoice_id: string;
  /** ms */
  readonly since: number;
}

export interface InvoiceFilter {
  readonly customer_id?: string | undefined;
  /** `live`: every state except void. */
  readonly state?: InvoiceState | 'live' | undefined;
}

const facet = ({ customer_id, state }: InvoiceFilter): string =>
  JSON.stringify([customer_id ?? null, state ?? null]);

const facetsOf = ({ customer, state }: Invoice): readonly string[] => {
  const states = [undefined, state, ...(state === 'void' ? [] : (['live'] as const))];
  return [undefined, customer.id].flatMap((customer_id) =>
    states.map((each) => facet({ customer_id, state: each })),
  );
};

type Folded = InvoiceEvent & Pick<ProjectedEvent, 'tenantId' | 'stream' | 'at' | 'revision'>;

const invoices = collection<InvoiceDoc>('invoices');

const invoice = (event: Folded): Touch =>
  invoices.touch(event.data.invoice_id, (doc) => {
    const folded = foldInvoice(doc?.invoice, event, event);
    if (folded === undefined) return doc;
    return { invoice: folded, generated_at: folded.generated_at, facets: facetsOf(folded) };
  });

const issuings = platformCollection<IssuingDoc>('issuing');

const issuing = ({ data, tenantId }: Folded, change: () => IssuingDoc | undefined): Touch =>
  issuings.touch(`${tenantId}/${data.invoice_id}`, change);

/** The customer's id in the stream name `partner_<p>.invoices-<customer>`. */
const customerOf = (stream: string): string => stream.slice(stream.indexOf('-') + 1);

const ended = (event: Folded): readonly Touch[] => [invoice(event), issuing(event, () => undefined)];

export const invoicesProjection = projection<InvoiceEvent>({
  name: 'invoices',
  version: 1,
  collections: [
    {
      name: 'invoices',
      indexes: [{ name: 'by_facet', fields: ['facets', 'generated_at'], multi: 'facets' }],
    },
    { name: 'issuing', indexes: [{ name: 'by_since', fields: ['since'] }] },
  ],
  on: {
    InvoiceGenerated: (event) => [invoice(event)],
    InvoiceIssueStarted: (event) => [
      invoice(event),
      issuing(event, () => ({
        scope: event.tenantId,
        customer_id: customerOf(event.stream),
        invoice_id: event.data.invoice_id,
        since: event.at,
      })),
    ],
    InvoiceIssueDelayed: (event) => [invoice(event)],
    InvoiceIssueRefused: ended,
    InvoiceIssued: ended,
    InvoiceVoided: (event) => [invoice(event)],
  },
});

// Queries

const byFacet = invoices.listOf('by_facet', 'desc');

/** Newest first. */
export const invoicesOf = async (
  reader: DocumentReader,
  scope: string,
  filter: InvoiceFilter,
  page: PageRequest,
): Promise<Page<Invoice>> => {
  const { docs, next } = await byFacet(reader, scope, facet(filter), page);
  return { docs: docs.map((doc) => doc.invoice), next };
};

export const invoiceById = async (
  reader: DocumentReader,
  scope: string,
  id: string,
): Promise<Invoice | undefined> => (await invoices.get(reader, scope, id))?.invoice;

/** Invoices of all partners, in the order in which issuing began. */
export const issuingInvoices = issuings.list('by_since', 'asc');
