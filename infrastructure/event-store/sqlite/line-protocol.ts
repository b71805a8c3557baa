import { z } from 'zod';

/** What the store and its thread say to each other; offsets are those of the log. */

const names = z.array(z.string()).readonly();
const members = z.array(z.object({ type: z.string(), name: z.string() })).readonly();

export const lineThreadData = z.object({ path: z.string(), members });
export type LineThreadData = z.output<typeof lineThreadData>;

export const toLines = z.object({
  id: z.number(),
  after: z.number(),
  until: z.number(),
  filter: z.object({ streamPrefix: z.string().optional(), types: names.optional() }),
  /** What the lines may be put in. */
  room: z.instanceof<typeof ArrayBuffer>(ArrayBuffer).optional(),
});
export type ToLines = z.output<typeof toLines>;

const page = z.object({
  lines: z.instanceof<typeof Uint8Array<ArrayBuffer>>(Uint8Array).optional(),
  texts: z.instanceof<typeof Uint32Array<ArrayBuffer>>(Uint32Array),
  keyPages: names,
  events: z.number(),
  scanned: z.number(),
});

export const fromLines = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ready') }),
  z.object({ kind: z.literal('page'), id: z.number(), page }),
  z.object({ kind: z.literal('failed'), id: z.number(), message: z.string() }),
]);
export type FromLines = z.output<typeof fromLines>;
