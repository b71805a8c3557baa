import { StoreUnavailable } from './event-store.ts';

/** A cursor that does not fit the index; the API answers 400. */
export class InvalidCursor extends TypeError {
  override readonly name = 'InvalidCursor';
}

/** A search took too long, or too many wait; the API answers 503 `unavailable`. */
export class SearchGivenUp extends StoreUnavailable {}

/** Too many searches wait. */
export class TooManySearches extends SearchGivenUp {}

/**
 * Shares the thread among searches: each waits for its next slice. Tenants that have used the least time come first.
 */
export interface SearchSlices {
  of(tenantId: string, code: string): { next(): Promise<void> };
}
