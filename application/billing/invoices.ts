import {
  generateInvoice,
  type InvoicesState,
  invoiceOfWindow,
  invoicesStream,
  liveInvoice,
  startIssue,
  voidInvoice,
} from '../../domain/billing/invoice.ts';
import type { Invoice } from '../../domain/billing/invoice-view.ts';
import type { Window } from '../../domain/billing/shapes.ts';
import { DomainError, notFound, tooBusy } from '../../domain/core/errors.ts';
import { partnerScope } from '../../domain/partners/partner.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { Position } from '../ports/event-store.ts';
import type { InvoiceLog } from './invoice-log.ts';
import type { InvoiceIssuing, InvoiceRef } from './issuing.ts';
import type { Statements } from './statements.ts';

export type InvoiceNow = Written<{ readonly invoice: Invoice }>;

/** Use cases on invoices (decisions, section 10); the partner comes from the credential. */
export class Invoices extends WithDeps<{
  readonly streams: Streams;
  readonly partners: PartnerDirectory;
  readonly log: InvoiceLog;
  readonly statements: Pick<Statements, 'draft'>;
  readonly issuing: InvoiceIssuing;
  /** Undefined for an unknown invoice or an invoice of another partner. */
  readonly customerOf: (partnerId: string, invoiceId: string) => Promise<string | undefined>;
  /** Called when a request has written but is then refused: the caller's next reads wait for this position. */
  readonly wrote: (position: Position) => void;
}> {
  readonly #stopping = new AbortController();

  /** Aborts upstream calls of requests; the background worker continues from the stored intent. */
  stop(): void {
    this.#stopping.abort();
  }

  /**
   * Freezes the statement of the window as an invoice.
   * @returns `isNew`: false when the window already had an invoice
   * @throws `not_found` for a tenant that was never the partner's customer, `window_overlap`, `nothing_to_invoice`,
   * `constraint_violated` for an amount that is too large, `read_model_behind`, `unavailable`
   */
  async generate(
    partnerId: string,
    customerId: string,
    window: Window,
    context: RequestContext,
  ): Promise<InvoiceNow & { readonly isNew: boolean }> {
    if (!isTenantId(customerId)) throw notFound();
    const partner = await this.deps.partners.find(partnerId);
    if (partner === undefined) throw notFound();
    const scope = partnerScope(partnerId);
    const id = context.newId();
    const stream = this.deps.streams.of(invoicesStream, scope, customerId);
    const prepare = async ({ state: invoices, revision }: StreamState<InvoicesState>) => {
      if (invoiceOfWindow(invoices, window) !== undefined) return undefined;
      const draft = await this.deps.statements.draft(partnerId, customerId, window);
      // The draft must come from the same revision that `decide` runs on.
      if ((await stream.refresh()).revision !== revision) throw new Moved();
      return { ...draft, partner: { id: partnerId, name: partner.name } };
    };
    const { events, state, position } = await retryMoved(() =>
      stream.execute(context, {
        prepare,
        decide: (invoices, _context, draft) => generateInvoice(invoices, id, window, draft),
      }),
    );
    const made = events.find(({ type }) => type === 'InvoiceGenerated')?.data.invoice_id;
    const invoiceId = made ?? invoiceOfWindow(state, window)?.id;
    if (invoiceId === undefined) throw new Error('no invoice was generated');
    const invoice = await this.#invoice({ scope, customerId, invoiceId }, state);
    return { invoice, position, isNew: made !== undefined };
  }

  /**
   * Stores the intent, then calls the upstream once. Makes no call if another request has started the issue.
   * @returns the issued invoice, or the invoice in state `issuing` while no answer of the upstream is stored
   * @throws `not_found`, `invoice_locked` for a void invoice, `upstream_refused`
   */
  async issue(partnerId: string, invoiceId: string, context: RequestContext): Promise<InvoiceNow> {
    const one = await this.#find(partnerId, invoiceId);
    let isFirst = false;
    const outcome = await this.#stream(one).execute(context, (state) => {
      const events = startIssue(state, invoiceId);
      // `decide` does not run if an earlier try of the request appended; that try may have called the upstream already.
      isFirst = events.length > 0;
      return events;
    });
    const entry = liveInvoice(outcome.state, invoiceId);
    const isOwn = outcome.events.length > 0;
    if (entry?.state === 'issuing') {
      // A request that did not start the issue waits for a running call but does not make one: the worker retries.
      await (isOwn
        ? this.deps.issuing.attempt(one, isFirst, this.#stopping.signal)
        : this.deps.issuing.running(one));
    }
    const { state, position } = await this.#stream(one).refresh();
    const invoice = await this.#invoice(one, state);
    if (invoice.state === 'generated' || invoice.state === 'void') {
      if (position !== undefined) this.deps.wrote(position);
      const message = 'The upstream billing system refused the invoice.';
      throw new DomainError('upstream_refused', message, { reason: invoice.last_error });
    }
    return { invoice, position };
  }

  /** @throws `not_found`, `invoice_locked` */
  async void(partnerId: string, invoiceId: string, context: RequestContext): Promise<InvoiceNow> {
    const one = await this.#find(partnerId, invoiceId);
    const { state, position } = await this.#stream(one).execute(context, (invoices) =>
      voidInvoice(invoices, invoiceId),
    );
    return { invoice: await this.#invoice(one, state), position };
  }

  /** Always throws: an invoice is frozen when it is generated. @throws `not_found`, `invoice_locked` */
  async change(partnerId: string, invoiceId: string): Promise<never> {
    const { state: invoices } = await this.#stream(await this.#find(partnerId, invoiceId)).refresh();
    const state = liveInvoice(invoices, invoiceId)?.state ?? 'void';
    throw new DomainError(
      'invoice_locked',
      'An invoice cannot be changed after it was generated: void it and generate another one.',
      { state },
    );
  }

  async #find(partnerId: string, invoiceId: string): Promise<InvoiceRef> {
    const customerId = await this.deps.customerOf(partnerId, invoiceId);
    if (customerId === undefined) throw notFound();
    return { scope: partnerScope(partnerId), customerId, invoiceId };
  }

  #stream({ scope, customerId }: InvoiceRef) {
    return this.deps.streams.of(invoicesStream, scope, customerId);
  }

  async #invoice({ scope, customerId, invoiceId }: InvoiceRef, state: InvoicesState): Promise<Invoice> {
    const from = liveInvoice(state, invoiceId)?.at;
    const invoice = await this.deps.log.invoice(scope, customerId, invoiceId, from);
    if (invoice === undefined) throw notFound();
    return invoice;
  }
}

/** Another process wrote to the stream while the draft was made. */
class Moved extends Error {}

const MOVES = 20;

/** @throws `unavailable` */
const retryMoved = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let moves = 0; moves < MOVES; moves += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Moved)) throw error;
    }
  }
  throw tooBusy();
};
