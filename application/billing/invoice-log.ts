import { type InvoiceEvent, invoicesStream } from '../../domain/billing/invoice.ts';
import { foldInvoice, type Invoice } from '../../domain/billing/invoice-view.ts';
import type { RecordedEvent } from '../core/events/event-codec.ts';
import { type EventSource, eventsOf } from '../core/events/stream-events.ts';
import { streamName } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';

const PAGE = 500;

/** Reads invoices of one customer from the customer's stream. */
export class InvoiceLog extends WithDeps<EventSource> {
  /** An invoice as it was generated, without later changes. @param at revision of the invoice's first event */
  async generated(scope: string, customerId: string, at: number): Promise<Invoice> {
    const { value: event } = await this.#all(scope, customerId, at, 1).next();
    const invoice = event && foldInvoice(undefined, event, event);
    if (invoice === undefined) throw new Error(`revision ${at} of ${customerId} generates no invoice`);
    return invoice;
  }

  /** Undefined for an invoice of another customer. @param from revision to start at, if known */
  async invoice(scope: string, customerId: string, id: string, from = 0): Promise<Invoice | undefined> {
    let invoice: Invoice | undefined;
    for await (const event of this.#all(scope, customerId, from)) {
      if (event.data.invoice_id === id) invoice = foldInvoice(invoice, event, event);
    }
    return invoice;
  }

  /** Invoices that are not void, oldest first. */
  async live(scope: string, customerId: string): Promise<readonly Invoice[]> {
    const found = new Map<string, Invoice>();
    for await (const event of this.#all(scope, customerId, 0)) {
      const id = event.data.invoice_id;
      const invoice = foldInvoice(found.get(id), event, event);
      if (invoice === undefined || invoice.state === 'void') found.delete(id);
      else found.set(id, invoice);
    }
    return [...found.values()];
  }

  #all(
    scope: string,
    customerId: string,
    from: number,
    limit = PAGE,
  ): AsyncGenerator<RecordedEvent<InvoiceEvent>> {
    const stream = streamName(scope, invoicesStream.category, customerId);
    // The cast holds: a stream has only events of its stream type.
    return eventsOf(this.deps, stream, from, limit) as AsyncGenerator<RecordedEvent<InvoiceEvent>>;
  }
}
