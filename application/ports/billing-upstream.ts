/**
 * The billing system that receives issued invoices (decisions, section 10, Issue). All documents sent under one key are
 * one invoice.
 */
export interface BillingUpstream {
  /**
   * Sends once, without a retry.
   * @param document JSON; the same bytes for the same key
   * @param signal aborts the call
   * @throws only the signal's reason
   */
  send(key: string, document: string, signal: AbortSignal): Promise<SendAnswer>;
  /**
   * Looks up whether the billing system has an invoice under the key.
   * @throws only the signal's reason
   */
  find(key: string, signal: AbortSignal): Promise<FindAnswer>;
}

/** `unknown`: the upstream may have the invoice. Messages are for people, at most 500 characters. */
export type SendAnswer =
  | { readonly kind: 'accepted'; readonly reference: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string };

export type FindAnswer =
  | { readonly kind: 'found'; readonly reference: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Most characters of a reference. */
export const MAX_REFERENCE = 255;
