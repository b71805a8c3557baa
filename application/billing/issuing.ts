import {
  delayIssue,
  finishIssue,
  type InvoiceEvent,
  type InvoicesState,
  invoicesStream,
  type LiveInvoice,
  liveInvoice,
  refuseIssue,
} from '../../domain/billing/invoice.ts';
import type { Invoice } from '../../domain/billing/invoice-view.ts';
import type { DecisionContext } from '../../domain/core/stream-type.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { whileRenewed } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { BillingUpstream, SendAnswer } from '../ports/billing-upstream.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadStore } from '../ports/read-store.ts';
import type { InvoiceLog } from './invoice-log.ts';

/** Names an invoice: its partner, customer and id. */
export interface InvoiceRef {
  /** `partner_<id>` */
  readonly scope: string;
  readonly customerId: string;
  readonly invoiceId: string;
}

/** `busy`: another process is calling the upstream. `waiting`: no clear answer came, or it could not be stored. */
export type IssueOutcome = 'ended' | 'waiting' | 'busy';

const LEASE_MS = 3000;
/** Age (ms) of the stored intent after which the upstream may have forgotten the idempotency key. */
const LATE_MS = 3_600_000;

/** The upstream's idempotency key: the same for all calls about one invoice. */
export const upstreamKey = ({ id, revision }: { id: string; revision: number }): string =>
  `partner-invoice-${id}-${revision}`;

/** The document to send: only frozen data, so that its bytes are the same for each call. */
const upstreamDocument = (invoice: Invoice): string => {
  const { id, number, revision, partner, customer, window, currency, lines, totals } = invoice;
  const { rate_card_version, generated_at } = invoice;
  return JSON.stringify({
    id,
    number,
    revision,
    partner,
    customer,
    window,
    currency,
    lines,
    totals,
    rate_card_version,
    generated_at,
  });
};

/**
 * Calls the upstream, one call per invoice at a time under a lease, and stores the outcome. A repeat after a crash uses
 * the same key, so that the upstream has one invoice.
 */
export class InvoiceIssuing extends WithDeps<{
  readonly streams: Streams;
  readonly log: InvoiceLog;
  readonly upstream: BillingUpstream;
  readonly leases: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly owner: string;
  readonly leaseMs?: number;
}> {
  readonly #running = new Map<string, Promise<IssueOutcome>>();

  /** The running call of this process for the invoice; undefined if there is none. */
  running({ scope, invoiceId }: InvoiceRef): Promise<IssueOutcome> | undefined {
    return this.#running.get(`${scope}/${invoiceId}`);
  }

  /**
   * Resolves to `waiting` on an error of the upstream or a store, instead of rejecting.
   * @param isFirst no earlier call was made, so that a refusal is final
   */
  attempt(ref: InvoiceRef, isFirst: boolean, signal: AbortSignal): Promise<IssueOutcome> {
    const key = `${ref.scope}/${ref.invoiceId}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = this.#underLease(ref, isFirst, signal)
      .catch((error: unknown): IssueOutcome => {
        this.deps.logger.warn(
          { err: error, invoice_id: ref.invoiceId },
          'an invoice could not be issued; it is retried later',
        );
        return 'waiting';
      })
      .finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #underLease(ref: InvoiceRef, isFirst: boolean, signal: AbortSignal): Promise<IssueOutcome> {
    const { leases, owner, logger, leaseMs = LEASE_MS } = this.deps;
    if (signal.aborted) return 'waiting';
    const lease = await leases.acquireLease(`billing:${ref.scope}/${ref.invoiceId}`, owner, leaseMs);
    if (lease === undefined) return 'busy';
    let outcome: IssueOutcome = 'waiting';
    // `whileRenewed` uses only the lease methods of the store.
    const options = { store: leases as ReadStore, logger, owner, ttlMs: leaseMs };
    await whileRenewed(lease, options, signal, async (_lease, held) => {
      outcome = await this.#attempt(ref, isFirst, held);
    });
    return outcome;
  }

  async #attempt(ref: InvoiceRef, isFirst: boolean, signal: AbortSignal): Promise<IssueOutcome> {
    const { log, streams } = this.deps;
    const { scope, customerId, invoiceId } = ref;
    const { state: invoices } = await streams.of(invoicesStream, scope, customerId).refresh();
    const entry = liveInvoice(invoices, invoiceId);
    if (entry?.state !== 'issuing') return 'ended';
    const invoice = await log.generated(scope, customerId, entry.at);
    const isFirstCall = isFirst && entry.error === undefined;
    const answer = await this.#call(entry, invoice, isFirstCall, signal).catch((error: unknown) => {
      if (signal.aborted) return undefined;
      throw error;
    });
    // No answer because of an abort (stop or lost lease): the worker of this or another node tries again later.
    if (answer === undefined) return 'waiting';
    switch (answer.kind) {
      case 'accepted':
        await this.#accepted(ref, invoice, answer.reference);
        return 'ended';
      case 'refused':
        await this.#record(ref, (state) => refuseIssue(state, invoiceId, entry.attempt, answer.message));
        return 'ended';
      case 'unknown':
        await this.#record(ref, (state) => delayIssue(state, invoiceId, entry.attempt, answer.message));
        return 'waiting';
      default:
        return answer satisfies never;
    }
  }

  /** An invoice voided during the call stays void; the upstream's copy needs manual repair. */
  async #accepted(ref: InvoiceRef, invoice: Invoice, reference: string): Promise<void> {
    const { invoiceId } = ref;
    const state = await this.#record(ref, (before, context) =>
      finishIssue(before, invoiceId, reference, invoice, context),
    );
    if (liveInvoice(state, invoiceId) !== undefined) return;
    this.deps.logger.error(
      { invoice_id: invoiceId, upstream_ref: reference },
      'the upstream accepted an invoice that is void',
    );
  }

  async #call(
    entry: LiveInvoice,
    invoice: Invoice,
    isFirst: boolean,
    signal: AbortSignal,
  ): Promise<SendAnswer> {
    const { upstream, clock } = this.deps;
    const key = upstreamKey(invoice);
    if (clock.now() - (entry.since ?? 0) > LATE_MS) {
      const found = await upstream.find(key, signal);
      if (found.kind === 'found') return { kind: 'accepted', reference: found.reference };
      if (found.kind === 'unknown') return found;
    }
    const answer = await upstream.send(key, upstreamDocument(invoice), signal);
    if (answer.kind !== 'refused' || isFirst) return answer;
    // An earlier call may have been accepted although its answer was lost.
    const found = await upstream.find(key, signal);
    switch (found.kind) {
      case 'found':
        return { kind: 'accepted', reference: found.reference };
      case 'absent':
        return answer;
      case 'unknown':
        return found;
      default:
        return found satisfies never;
    }
  }

  async #record(
    { scope, customerId, invoiceId }: InvoiceRef,
    decide: (state: InvoicesState, context: DecisionContext) => readonly InvoiceEvent[],
  ): Promise<InvoicesState> {
    const cause: Cause = {
      actor: { kind: 'system', id: 'invoice-issuer' },
      correlationId: invoiceId,
      causationId: invoiceId,
    };
    const { state } = await this.deps.streams
      .of(invoicesStream, scope, customerId)
      .execute({ cause }, decide);
    return state;
  }
}
