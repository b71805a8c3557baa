import { type InvoiceEvent, invoicesStream } from '../../domain/billing/invoice.ts';
import { foldInvoice, type Invoice } from '../../domain/billing/invoice-view.ts';
import type { EventCodec, RecordedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore } from '../ports/event-store.ts';

const PAGE = 500;

/** Reads invoices of one customer from their stream. */
export class InvoiceLog extends WithDeps<{ events: Pick<EventStore, 'readStream'>; codec: EventCodec }> {
  /** An invoice as generated. @param at revision of its first event */
  async generated(scope: string, customerId: string, at: number): Promise<Invoice> {
    const [event] = await this.#read(scope, customerId, at, 1);
    const invoice = event === undefined ? undefined : foldInvoice(undefined, event, event);
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

  async *#all(scope: string, customerId: string, first: number): AsyncGenerator<RecordedEvent<InvoiceEvent>> {
    for (let from = first; ; ) {
      const page = await this.#read(scope, customerId, from, PAGE);
      yield* page;
      if (page.length < PAGE) return;
      from += page.length;
    }
  }

  async #read(
    scope: string,
    customerId: string,
    from: number,
    limit: number,
  ): Promise<readonly RecordedEvent<InvoiceEvent>[]> {
    const stream = streamName(scope, invoicesStream.category, customerId);
    const page = await this.deps.events.readStream(stream, { from, limit });
    // A stream holds only events of its type.
    return page.map((stored) => this.deps.codec.decode(stored) as RecordedEvent<InvoiceEvent>);
  }
}
