import { iso } from '../core/projection.ts';
import type { InvoiceEvent } from './invoice.ts';
import type { FrozenInvoice } from './shapes.ts';

/** An invoice as it is shown (decisions, section 10, Invoice). */

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

/** Applies one of the invoice's own events. @param at ms */
export const foldInvoice = (
  invoice: Invoice | undefined,
  event: InvoiceEvent,
  at: number,
): Invoice | undefined => {
  if (event.type === 'InvoiceGenerated') {
    const { invoice_id: id, number, through, ...frozen } = event.data;
    return {
      id,
      number,
      ...frozen,
      state: 'generated',
      generated_at: iso(at),
      ...(through === undefined ? {} : { through }),
    };
  }
  if (invoice === undefined) return undefined;
  const { last_error: _error, ...present } = invoice;
  switch (event.type) {
    case 'InvoiceIssueStarted':
      return { ...present, state: 'issuing' };
    case 'InvoiceIssueDelayed':
      return { ...present, last_error: event.data.error };
    case 'InvoiceIssueRefused':
      return { ...present, state: 'generated', last_error: event.data.error };
    case 'InvoiceIssued': {
      const { issued_at, upstream_ref } = event.data;
      return { ...present, state: 'issued', issued_at, upstream_ref };
    }
    case 'InvoiceVoided':
      return { ...invoice, state: 'void', voided_at: iso(at) };
    default:
      return event satisfies never;
  }
};
