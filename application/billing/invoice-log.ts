import { type InvoicesState, invoicesDecider } from '../../domain/billing/invoice.ts';
import type { InvoiceEvent } from '../../domain/billing/invoice-events.ts';
import { foldInvoice, type Invoice } from '../../domain/billing/invoice-view.ts';
import type { EventCodec, RecordedEvent } from '../codec.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { StreamState, StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';

const PAGE = 500;

/** Invoices of one customer as their stream has them: exact at the revision that was read. */
export class InvoiceLog {
  readonly #events: Pick<EventStore, 'readStream'>;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;

  constructor(deps: { events: Pick<EventStore, 'readStream'>; codec: EventCodec; states: StreamStates }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
  }

  /** As the store has it now. */
  async head(scope: string, customerId: string): Promise<StreamState<InvoicesState>> {
    const stream = streamName(scope, invoicesDecider.category, customerId);
    // The stream's name says which decider folded it.
    return (await this.#states.refresh(stream, invoicesDecider)) as StreamState<InvoicesState>;
  }

  async state(scope: string, customerId: string): Promise<InvoicesState> {
    return (await this.head(scope, customerId)).state;
  }

  /** As it was generated. @param at revision of its first event */
  async generated(scope: string, customerId: string, at: number): Promise<Invoice> {
    const [event] = await this.#read(scope, customerId, at, 1);
    const invoice = event === undefined ? undefined : foldInvoice(undefined, event, event.at);
    if (invoice === undefined) throw new Error(`revision ${at} of ${customerId} generates no invoice`);
    return invoice;
  }

  /** Undefined for one that is not this customer's. @param from revision to begin at, where that is known */
  async invoice(scope: string, customerId: string, id: string, from = 0): Promise<Invoice | undefined> {
    let invoice: Invoice | undefined;
    for await (const event of this.#all(scope, customerId, from)) {
      if (event.data.invoice_id === id) invoice = foldInvoice(invoice, event, event.at);
    }
    return invoice;
  }

  /** Those that are not void, oldest first. */
  async live(scope: string, customerId: string): Promise<readonly Invoice[]> {
    const found = new Map<string, Invoice>();
    for await (const event of this.#all(scope, customerId, 0)) {
      const id = event.data.invoice_id;
      const invoice = foldInvoice(found.get(id), event, event.at);
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
    const stream = streamName(scope, invoicesDecider.category, customerId);
    const page = await this.#events.readStream(stream, { from, limit });
    // A stream holds events of its decider and no others.
    return page.map((stored) => this.#codec.decode(stored) as RecordedEvent<InvoiceEvent>);
  }
}
