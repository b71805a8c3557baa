import { z } from 'zod';
import { SOURCE_KINDS } from '../../application/ports/corpus-store.ts';

/** Messages between the main thread and the search thread. */

const rules = z.object({
  mode: z.enum(['hybrid', 'keyword', 'embedding']),
  candidates: z.number(),
  cosineWeight: z.number(),
  keywordWeight: z.number(),
  coverageWeight: z.number(),
  threshold: z.number(),
  limit: z.number(),
  perSource: z.number(),
  duplicate: z.number(),
});

export const toRetrieval = z.object({
  id: z.number(),
  tenantId: z.string(),
  query: z.object({
    vector: z.custom<Float32Array>((value) => value instanceof Float32Array).or(z.undefined()),
    terms: z.array(z.object({ term: z.string(), weight: z.number() })).readonly(),
  }),
  rules,
});
export type ToRetrieval = z.input<typeof toRetrieval>;

const passage = z.object({
  kind: z.enum(SOURCE_KINDS),
  id: z.string(),
  no: z.number(),
  cosines: z.array(z.number()).readonly(),
  cosine: z.number(),
  keyword: z.number(),
  coverage: z.number(),
  score: z.number(),
  margin: z.number(),
  confidence: z.number(),
  title: z.string(),
  texts: z.array(z.string()).readonly(),
});

export const fromRetrieval = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('found'), id: z.number(), passages: z.array(passage) }),
  /** `isUnavailable`: the corpus cannot be reached. */
  z.object({ kind: z.literal('failed'), id: z.number(), isUnavailable: z.boolean(), message: z.string() }),
]);
export type FromRetrieval = z.output<typeof fromRetrieval>;
