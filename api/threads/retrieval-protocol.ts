import { z } from 'zod';
import type { IndexQuery } from '../../application/assistant/search-index.ts';
import type { Passage } from '../../application/assistant/tenant-indexes.ts';

/** Messages between the main thread and the search thread. Their content comes from the same release, unvalidated. */

export const toRetrieval = z.object({
  id: z.number(),
  tenantId: z.string(),
  query: z.custom<IndexQuery>((value) => typeof value === 'object'),
});
export type ToRetrieval = z.input<typeof toRetrieval>;

export const fromRetrieval = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('found'),
    id: z.number(),
    passages: z.custom<readonly Passage[]>(Array.isArray),
  }),
  /** `isUnavailable`: the corpus cannot be reached. */
  z.object({ kind: z.literal('failed'), id: z.number(), isUnavailable: z.boolean(), message: z.string() }),
]);
export type FromRetrieval = z.output<typeof fromRetrieval>;
