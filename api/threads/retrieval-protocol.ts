import type { IndexQuery } from '../../application/assistant/search-index.ts';
import type { Passage } from '../../application/assistant/tenant-indexes.ts';

/** Messages between the main thread and the search thread of the same release, so they are not validated. */

export interface ToRetrieval {
  readonly id: number;
  readonly tenantId: string;
  readonly query: IndexQuery;
}

export type FromRetrieval =
  | { readonly kind: 'found'; readonly id: number; readonly passages: readonly Passage[] }
  /** `isUnavailable`: the corpus cannot be reached. */
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly isUnavailable: boolean;
      readonly message: string;
    };
