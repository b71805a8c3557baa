import { iso } from '../core/projection.ts';
import { folded } from '../core/stream-type.ts';
import type { InvoiceEvent } from './invoice.ts';
import type { FrozenInvoice } from './shapes.ts';

/** An invoice as the API shows it (decisions, section 10, Invoice). */

export type InvoiceState = 'generated' | 'issuing' | 'issued' | 'void';

export interface Invoice extends FrozenInvoice {
  readonly number: string;
  /** The partner's name when the invoice was generated. */
  readonly partner: { readonly id: string; readonly name: string };
  readonly state: InvoiceState;
  /** The log position up to which usage was counted. */
  readonly through?: string;
  readonly issued_at?: string;
  readonly upstream_ref?: string;
  /** Why the invoice is not issued yet, or was refused. */
  readonly last_error?: string;
  readonly voided_at?: string;
}

export const foldInvoice = folded<Invoice | undefined, InvoiceEvent>({
  InvoiceGenerated: (_invoice, { invoice_id: id, number, through, ...frozen }, { at }) => ({
    id,
    number,
    ...frozen,
    state: 'generated',
    generated_at: iso(at),
    ...(through === undefined ? {} : { through }),
  }),
  InvoiceIssueStarted: (invoice) => invoice && { ...withoutError(invoice), state: 'issuing' },
  InvoiceIssueDelayed: (invoice, { error }) => invoice && { ...withoutError(invoice), last_error: error },
  InvoiceIssueRefused: (invoice, { error }) =>
    invoice && { ...withoutError(invoice), state: 'generated', last_error: error },
  InvoiceIssued: (invoice, { issued_at, upstream_ref }) =>
    invoice && { ...withoutError(invoice), state: 'issued', issued_at, upstream_ref },
  InvoiceVoided: (invoice, _data, { at }) => invoice && { ...invoice, state: 'void', voided_at: iso(at) },
});

const withoutError = ({ last_error: _error, ...invoice }: Invoice): Invoice => invoice;
