import type { Decider, DecisionContext } from '../decider.ts';
import { DomainError } from '../errors.ts';
import type { EventMeta } from '../event.ts';
import { iso } from '../projection.ts';
import type { InvoiceEvent } from './invoice-events.ts';
import type { FrozenInvoice, StatementLine, Totals, Window } from './shapes.ts';

/**
 * The invoices of one customer of a partner (specification, Partner invoice; decisions, section 10): a stream of its own,
 * so that windows, revisions and numbers have one order.
 */

// State

/** An invoice that is not void, as far as decisions need it: what it holds is in its first event. */
export interface LiveInvoice {
  readonly id: string;
  readonly window: Window;
  readonly revision: number;
  readonly state: 'generated' | 'issuing' | 'issued';
  /** Revision of its `InvoiceGenerated` in the stream. */
  readonly at: number;
  /** How often issuing was begun. */
  readonly attempt: number;
  /** While issuing: when that began (ms). */
  readonly since?: number;
  /** While issuing: why there was no answer the last time, and how many reasons have been noted. */
  readonly error?: string;
  readonly delays?: number;
}

/**
 * An entry of some 200 bytes for each invoice that is not void, and one for each window that was freed: windows of live
 * invoices do not overlap and each has usage of its own, so that a customer who is billed by the month has 120 of them
 * after ten years.
 */
export interface InvoicesState {
  readonly live: readonly LiveInvoice[];
  /** Revisions that are used up, by window; see {@link windowKey}. */
  readonly voided: Readonly<Record<string, number>>;
  /** Invoices ever generated: the last number. */
  readonly count: number;
}

const windowKey = ({ from, to }: Window): string => `${from}/${to}`;

const change = (
  state: InvoicesState,
  id: string,
  changed: (invoice: LiveInvoice) => LiveInvoice,
): InvoicesState => ({
  ...state,
  live: state.live.map((invoice) => (invoice.id === id ? changed(invoice) : invoice)),
});

/** Without what is only of interest while it is being issued. */
const settled = (
  { id, window, revision, at, attempt }: LiveInvoice,
  state: LiveInvoice['state'],
): LiveInvoice => ({ id, window, revision, state, at, attempt });

const evolve = (state: InvoicesState, event: InvoiceEvent, meta: EventMeta): InvoicesState => {
  switch (event.type) {
    case 'InvoiceGenerated': {
      const { invoice_id: id, window, revision } = event.data;
      const invoice: LiveInvoice = {
        id,
        window,
        revision,
        state: 'generated',
        at: meta.revision,
        attempt: 0,
      };
      return { ...state, live: [...state.live, invoice], count: state.count + 1 };
    }
    case 'InvoiceIssueStarted':
      return change(state, event.data.invoice_id, (invoice) => ({
        ...settled(invoice, 'issuing'),
        attempt: event.data.attempt,
        since: meta.at,
      }));
    case 'InvoiceIssueDelayed':
      return change(state, event.data.invoice_id, (invoice) => ({
        ...invoice,
        error: event.data.error,
        delays: (invoice.delays ?? 0) + 1,
      }));
    case 'InvoiceIssueRefused':
      return change(state, event.data.invoice_id, (invoice) => settled(invoice, 'generated'));
    case 'InvoiceIssued':
      return change(state, event.data.invoice_id, (invoice) => settled(invoice, 'issued'));
    case 'InvoiceVoided': {
      const { invoice_id, window, revision } = event.data;
      return {
        ...state,
        live: state.live.filter(({ id }) => id !== invoice_id),
        voided: { ...state.voided, [windowKey(window)]: revision },
      };
    }
    default:
      return event satisfies never;
  }
};

export const invoicesDecider: Decider<InvoicesState, InvoiceEvent> = {
  category: 'invoices',
  stateVersion: 1,
  initial: { live: [], voided: {}, count: 0 },
  evolve,
};

// Commands

/** What an invoice of a window would hold now. */
export interface InvoiceDraft {
  readonly partner: { readonly id: string; readonly name: string };
  readonly customer: { readonly id: string; readonly name: string };
  readonly currency: string;
  readonly rate_card_version: number;
  readonly lines: readonly StatementLine[];
  readonly totals: Totals;
  readonly through?: string | undefined;
}

/** What is told when an invoice is issued. */
export type IssuedContent = Omit<FrozenInvoice, 'id' | 'generated_at'> &
  Pick<InvoiceDraft, 'partner'> & { readonly number: string };

// Decide

/** Undefined for one that is void, or never was. */
export const liveInvoice = (state: InvoicesState, id: string): LiveInvoice | undefined =>
  state.live.find((invoice) => invoice.id === id);

/**
 * The invoice of this very window.
 * @throws `window_overlap` when another one's overlaps it
 */
export const invoiceOfWindow = (state: InvoicesState, window: Window): LiveInvoice | undefined => {
  const overlapping = state.live.filter(({ window: { from, to } }) => from < window.to && window.from < to);
  const same = overlapping.find((invoice) => windowKey(invoice.window) === windowKey(window));
  const [other] = overlapping;
  if (same !== undefined || other === undefined) return same;
  throw new DomainError('window_overlap', 'An invoice of a window that overlaps this one is there.', {
    invoice_id: other.id,
    window: other.window,
  });
};

/**
 * A second invoice of the same window is none.
 * @throws `window_overlap`, `nothing_to_invoice`
 */
export const generateInvoice = (
  state: InvoicesState,
  id: string,
  { from, to }: Window,
  draft: InvoiceDraft | undefined,
): readonly InvoiceEvent[] => {
  const window = { from, to };
  if (invoiceOfWindow(state, window) !== undefined) return [];
  if (!draft?.lines.some(({ unrated, billable }) => unrated !== true && billable > 0)) {
    throw new DomainError('nothing_to_invoice', 'No priced usage above what is included.', { window });
  }
  const { partner, customer, currency, rate_card_version, lines, totals, through } = draft;
  const revision = (state.voided[windowKey(window)] ?? 0) + 1;
  const number = `${customer.id}-${state.count + 1}`;
  const frozen = {
    invoice_id: id,
    number,
    partner,
    customer,
    window,
    revision,
    currency,
    lines: [...lines],
    totals,
    rate_card_version,
    ...(through === undefined ? {} : { through }),
  };
  return [{ type: 'InvoiceGenerated', data: frozen }];
};

/** @param state `void` for what is not live */
const locked = (state: LiveInvoice['state'] | 'void'): DomainError =>
  new DomainError('invoice_locked', `The invoice is ${state} and cannot be changed.`, { state });

/** Nothing where issuing has begun or is done. @throws `invoice_locked` for a void one */
export const startIssue = (state: InvoicesState, id: string): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice === undefined) throw locked('void');
  if (invoice.state !== 'generated') return [];
  const { revision, attempt } = invoice;
  return [{ type: 'InvoiceIssueStarted', data: { invoice_id: id, revision, attempt: attempt + 1 } }];
};

/** What the upstream has taken is issued, also when another answer of it has been a refusal. */
export const recordIssued = (
  state: InvoicesState,
  id: string,
  upstreamRef: string,
  { number, partner, customer, window, currency, lines, totals, rate_card_version }: IssuedContent,
  { now }: DecisionContext,
): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice === undefined || invoice.state === 'issued') return [];
  const data = {
    invoice_id: id,
    number,
    partner,
    customer,
    window,
    revision: invoice.revision,
    currency,
    lines: [...lines],
    totals,
    rate_card_version,
    upstream_ref: upstreamRef,
    issued_at: iso(now),
  };
  return [{ type: 'InvoiceIssued', data }];
};

/** The answer to one attempt; a later one is not concerned. */
export const recordRefused = (
  state: InvoicesState,
  id: string,
  attempt: number,
  error: string,
): readonly InvoiceEvent[] => {
  const invoice = underWay(state, id, attempt);
  if (invoice === undefined) return [];
  return [
    { type: 'InvoiceIssueRefused', data: { invoice_id: id, revision: invoice.revision, attempt, error } },
  ];
};

/** So many reasons of one attempt are noted: an upstream may be away for days, in ever new words. */
const MAX_DELAYS = 10;

export const recordDelayed = (
  state: InvoicesState,
  id: string,
  attempt: number,
  error: string,
): readonly InvoiceEvent[] => {
  const invoice = underWay(state, id, attempt);
  if (invoice === undefined || invoice.error === error || (invoice.delays ?? 0) >= MAX_DELAYS) return [];
  return [
    { type: 'InvoiceIssueDelayed', data: { invoice_id: id, revision: invoice.revision, attempt, error } },
  ];
};

const underWay = (state: InvoicesState, id: string, attempt: number): LiveInvoice | undefined => {
  const invoice = liveInvoice(state, id);
  return invoice?.state === 'issuing' && invoice.attempt === attempt ? invoice : undefined;
};

/** @throws `invoice_locked` unless it is generated and not being issued */
export const voidInvoice = (state: InvoicesState, id: string): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice?.state !== 'generated') throw locked(invoice?.state ?? 'void');
  const { revision, window } = invoice;
  return [{ type: 'InvoiceVoided', data: { invoice_id: id, revision, window } }];
};
