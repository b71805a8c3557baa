import { z } from 'zod';

/** Messages between the supervisor and its processes. */

/** Tokens of rate limits that one process took: bucket, caller, number. */
const takes = z.array(z.tuple([z.string(), z.string(), z.number()]));
export type Takes = z.output<typeof takes>;

/** A metric; the fields are not validated, because a process of the same release wrote them. */
const metric = z.custom<object>((value) => typeof value === 'object' && value !== null);

export const fromProcess = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('listening') }),
  /** Requests the metrics of all processes as one text. */
  z.object({ kind: z.literal('scrape'), id: z.number() }),
  /** The answer to `collect`. */
  z.object({ kind: z.literal('snapshot'), id: z.number(), metrics: z.array(metric) }),
  z.object({ kind: z.literal('taken'), takes }),
]);
export type FromProcess = z.output<typeof fromProcess>;

export const toProcess = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('collect'), id: z.number() }),
  /** The answer to `scrape`. */
  z.object({ kind: z.literal('metrics'), id: z.number(), text: z.string() }),
  /** Tokens that other processes took. */
  z.object({ kind: z.literal('taken'), takes }),
]);
export type ToProcess = z.output<typeof toProcess>;
