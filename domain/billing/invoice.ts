import { z } from 'zod';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { iso } from '../core/projection.ts';
import { type DecisionContext, folded, type StreamType } from '../core/stream-type.ts';
import { type Content, contentSchema, type StatementLine, type Window, windowSchema } from './shapes.ts';

/**
 * The invoices of one customer of a partner (specification, Partner invoice; decisions, section 10), in the stream
 * `partner_<p>.invoices-<customer>`. One stream holds them all, so that windows, revisions and numbers cannot conflict.
 */

// Events

const content = z.object({ invoice_id: z.string(), ...contentSchema.shape });

export const InvoiceGenerated = defineEvent(
  'InvoiceGenerated',
  content.extend({
    /** The log position up to which usage was counted. */
    through: z.string().optional(),
  }),
);

const one = { invoice_id: z.string(), revision: z.number() };

/** Stores the intent before the upstream is called. */
export const InvoiceIssueStarted = defineEvent(
  'InvoiceIssueStarted',
  z.object({
    ...one,
    /** Number of this attempt to issue, from 1. */
    attempt: z.number(),
  }),
);

const unissued = z.object({ ...one, attempt: z.number(), error: z.string() });

/** The upstream has not decided yet. Appended when the reason changes, at most 10 times for each attempt. */
export const InvoiceIssueDelayed = defineEvent('InvoiceIssueDelayed', unissued);

export const InvoiceIssueRefused = defineEvent('InvoiceIssueRefused', unissued);

/** Holds the whole content, because posting rules of the ledger read only this event. */
export const InvoiceIssued = defineEvent(
  'InvoiceIssued',
  content.extend({ upstream_ref: z.string(), issued_at: z.string() }),
);

export const InvoiceVoided = defineEvent('InvoiceVoided', z.object({ ...one, window: windowSchema }));

export const invoiceEvents = [
  InvoiceGenerated,
  InvoiceIssueStarted,
  InvoiceIssueDelayed,
  InvoiceIssueRefused,
  InvoiceIssued,
  InvoiceVoided,
] as const;
export type InvoiceEvent = EventOf<(typeof invoiceEvents)[number]>;

// State

/** The part of a live (not void) invoice that decisions need; the content is only in `InvoiceGenerated`. */
export interface LiveInvoice {
  readonly id: string;
  readonly window: Window;
  readonly revision: number;
  readonly state: 'generated' | 'issuing' | 'issued';
  /** Revision of the invoice's `InvoiceGenerated` event. */
  readonly at: number;
  /** Attempts to issue so far. */
  readonly attempt: number;
  /** While issuing: when the attempt began (ms). */
  readonly since?: number;
  /** While issuing: `error` is the last reason for a missing answer, `delays` the number of recorded reasons. */
  readonly error?: string;
  readonly delays?: number;
}

/**
 * Grows by one member for each live invoice, and for each window whose invoice was voided. Windows of live invoices do
 * not overlap, so monthly billing adds twelve members a year.
 */
export interface InvoicesState {
  readonly live: readonly LiveInvoice[];
  /** Revision of the last voided invoice of each window, by {@link windowKey}. */
  readonly voided: Readonly<Record<string, number>>;
  /** Number of invoices ever generated, including void ones; also the `n` of the last invoice number. */
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

/** Changes the state, and removes the members that exist only while issuing. */
const inState = (
  { id, window, revision, at, attempt }: LiveInvoice,
  state: LiveInvoice['state'],
): LiveInvoice => ({ id, window, revision, state, at, attempt });

export const invoicesStream: StreamType<InvoicesState, InvoiceEvent> = {
  category: 'invoices',
  stateVersion: 1,
  initial: { live: [], voided: {}, count: 0 },
  evolve: folded({
    InvoiceGenerated: (state, { invoice_id: id, window, revision }, meta) => {
      const made: LiveInvoice = { id, window, revision, state: 'generated', at: meta.revision, attempt: 0 };
      return { ...state, live: [...state.live, made], count: state.count + 1 };
    },
    InvoiceIssueStarted: (state, { invoice_id, attempt }, { at }) =>
      change(state, invoice_id, (invoice) => ({ ...inState(invoice, 'issuing'), attempt, since: at })),
    InvoiceIssueDelayed: (state, { invoice_id, error }) =>
      change(state, invoice_id, (invoice) => ({ ...invoice, error, delays: (invoice.delays ?? 0) + 1 })),
    InvoiceIssueRefused: (state, { invoice_id }) =>
      change(state, invoice_id, (invoice) => inState(invoice, 'generated')),
    InvoiceIssued: (state, { invoice_id }) =>
      change(state, invoice_id, (invoice) => inState(invoice, 'issued')),
    InvoiceVoided: (state, { invoice_id, window, revision }) => ({
      ...state,
      live: state.live.filter(({ id }) => id !== invoice_id),
      voided: { ...state.voided, [windowKey(window)]: revision },
    }),
  }),
};

// Commands

/** The content of an invoice, as `InvoiceIssued` stores it. */
export type IssuedContent = Omit<Content, 'lines'> & { readonly lines: readonly StatementLine[] };

/** The content that an invoice of the window would have now. */
export type InvoiceDraft = Omit<IssuedContent, 'number' | 'window' | 'revision'> & {
  /** All events up to this position of the log are counted; undefined for an empty log. */
  readonly through?: string | undefined;
};

// Decide

/** Undefined for a void or unknown invoice. */
export const liveInvoice = (state: InvoicesState, id: string): LiveInvoice | undefined =>
  state.live.find((invoice) => invoice.id === id);

/**
 * The live invoice of exactly this window.
 * @throws `window_overlap` when this window overlaps the window of another live invoice
 */
export const invoiceOfWindow = (state: InvoicesState, window: Window): LiveInvoice | undefined => {
  const overlapping = state.live.filter(({ window: { from, to } }) => from < window.to && window.from < to);
  const same = overlapping.find((invoice) => windowKey(invoice.window) === windowKey(window));
  const [other] = overlapping;
  if (same !== undefined || other === undefined) return same;
  throw new DomainError('window_overlap', 'Another invoice already covers part of this window.', {
    invoice_id: other.id,
    window: other.window,
  });
};

/** Builds the content with its members in a fixed order, so that the JSON of an invoice never changes. */
const contentOf = (id: string, content: IssuedContent) => ({
  invoice_id: id,
  number: content.number,
  partner: content.partner,
  customer: content.customer,
  window: content.window,
  revision: content.revision,
  currency: content.currency,
  lines: [...content.lines],
  totals: content.totals,
  rate_card_version: content.rate_card_version,
});

/**
 * No events when the window has a live invoice already.
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
    throw new DomainError(
      'nothing_to_invoice',
      'The window has no priced usage above the included quantities.',
      { window },
    );
  }
  const { through, ...frozen } = draft;
  const number = `${draft.customer.id}-${state.count + 1}`;
  const revision = (state.voided[windowKey(window)] ?? 0) + 1;
  return decided(InvoiceGenerated, {
    ...contentOf(id, { ...frozen, number, window, revision }),
    through,
  });
};

/** @param state `void` for a void or unknown invoice */
const invoiceLocked = (state: LiveInvoice['state'] | 'void'): DomainError =>
  new DomainError('invoice_locked', `The invoice is ${state} and cannot be changed.`, { state });

/** No events when issuing has begun or is done. @throws `invoice_locked` for a void or unknown invoice */
export const startIssue = (state: InvoicesState, id: string): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice === undefined) throw invoiceLocked('void');
  if (invoice.state !== 'generated') return [];
  const { revision, attempt } = invoice;
  return decided(InvoiceIssueStarted, { invoice_id: id, revision, attempt: attempt + 1 });
};

/**
 * Issues an invoice that the upstream has accepted, even after a refused attempt. No events for an invoice that is
 * void, unknown or already issued.
 */
export const finishIssue = (
  state: InvoicesState,
  id: string,
  upstreamRef: string,
  content: IssuedContent,
  { now }: DecisionContext,
): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice === undefined || invoice.state === 'issued') return [];
  return decided(InvoiceIssued, {
    ...contentOf(id, { ...content, revision: invoice.revision }),
    upstream_ref: upstreamRef,
    issued_at: iso(now),
  });
};

/** Records the refusal of one attempt; no events when this attempt is no longer under way. */
export const refuseIssue = (
  state: InvoicesState,
  id: string,
  attempt: number,
  error: string,
): readonly InvoiceEvent[] => {
  const invoice = underWay(state, id, attempt);
  if (invoice === undefined) return [];
  return decided(InvoiceIssueRefused, { invoice_id: id, revision: invoice.revision, attempt, error });
};

/** Bounds the delays recorded for one attempt while the upstream is down. */
const MAX_DELAYS = 10;

export const delayIssue = (
  state: InvoicesState,
  id: string,
  attempt: number,
  error: string,
): readonly InvoiceEvent[] => {
  const invoice = underWay(state, id, attempt);
  if (invoice === undefined || invoice.error === error || (invoice.delays ?? 0) >= MAX_DELAYS) return [];
  return decided(InvoiceIssueDelayed, { invoice_id: id, revision: invoice.revision, attempt, error });
};

const underWay = (state: InvoicesState, id: string, attempt: number): LiveInvoice | undefined => {
  const invoice = liveInvoice(state, id);
  return invoice?.state === 'issuing' && invoice.attempt === attempt ? invoice : undefined;
};

/** @throws `invoice_locked` unless the invoice's state is `generated` */
export const voidInvoice = (state: InvoicesState, id: string): readonly InvoiceEvent[] => {
  const invoice = liveInvoice(state, id);
  if (invoice?.state !== 'generated') throw invoiceLocked(invoice?.state ?? 'void');
  const { revision, window } = invoice;
  return decided(InvoiceVoided, { invoice_id: id, revision, window });
};
