import { z } from 'zod';
import type { LogPage } from '../../application/core/subscriptions/log-follower.ts';
import type { LogGrowth, Position } from '../../application/ports/event-store.ts';

/** Messages between the main thread and the projections' thread. */

/** Not validated: the same release sends it within the process. */
const growth = z.custom<LogGrowth>(
  (value) => typeof value === 'object' && value !== null && 'events' in value,
);

const position = z.custom<Position>((value) => typeof value === 'string');

/** Not validated, like a growth. */
const page = z.custom<LogPage>((value) => typeof value === 'object' && value !== null && 'events' in value);

export const toProjections = z.discriminatedUnion('kind', [
  /** The log has grown, with the new events if they came from a remote store; others are read from it. */
  z.object({ kind: z.literal('appended'), growths: z.array(growth) }),
  /** Requests the page of the log after a position, or the first page. */
  z.object({ kind: z.literal('read'), id: z.number(), after: position.optional() }),
  /** Whether a reader waits for a projection. */
  z.object({ kind: z.literal('hurry'), projection: z.string(), waiting: z.boolean() }),
  z.object({ kind: z.literal('stop') }),
]);
export type ToProjections = z.output<typeof toProjections>;

const metric = z.discriminatedUnion('name', [
  z.object({ name: z.literal('projected'), projection: z.string(), count: z.number(), seconds: z.number() }),
  z.object({ name: z.literal('lag'), projection: z.string(), seconds: z.number() }),
  z.object({ name: z.literal('parked'), projection: z.string(), count: z.number() }),
]);
export type ProjectionMetric = z.output<typeof metric>;

/** A generation has folded and stored up to `checkpoint`. */
const progress = z.object({
  projection: z.string(),
  tag: z.string(),
  checkpoint: z.string().optional(),
  parked: z.array(z.string()),
});
export type ProjectionProgress = z.output<typeof progress>;

export const fromProjections = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('progress'), made: z.array(progress) }),
  /** This thread no longer folds a generation. */
  z.object({ kind: z.literal('ended'), projection: z.string(), tag: z.string() }),
  /** The answer to `read`. */
  z.object({ kind: z.literal('page'), id: z.number(), page }),
  z.object({ kind: z.literal('metrics'), metrics: z.array(metric) }),
]);
export type FromProjections = z.output<typeof fromProjections>;
