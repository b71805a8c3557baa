/**
 * The billing system that issued invoices are handed to (decisions, section 10, Issue). Whatever is sent under one key is
 * one invoice there, however often it is sent.
 */
export interface BillingUpstream {
  /**
   * One call, never repeated here.
   * @param document JSON; the same bytes for the same key
   * @param signal gives the call up
   * @throws the signal's reason, and nothing else
   */
  send(key: string, document: string, signal: AbortSignal): Promise<SendAnswer>;
  /**
   * What has become of a key.
   * @throws the signal's reason, and nothing else
   */
  find(key: string, signal: AbortSignal): Promise<FindAnswer>;
}

/** `unknown`: the upstream may or may not have the invoice. Messages are for people, at most 500 characters. */
export type SendAnswer =
  | { readonly kind: 'accepted'; readonly reference: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unknown'; readonly message: string };

export type FindAnswer =
  | { readonly kind: 'found'; readonly reference: string }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly message: string };

/** Of a reference: more is none. */
export const MAX_REFERENCE = 255;
