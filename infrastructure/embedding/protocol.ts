import { z } from 'zod';

/** Messages between the embedder and its thread; one group of texts is in flight at a time. */

export const toEmbedder = z.object({ id: z.number(), texts: z.array(z.string()) });
export type ToEmbedder = z.output<typeof toEmbedder>;

export const fromEmbedder = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('loaded') }),
  /** The model cannot be used: its files are missing, or it does not run here. */
  z.object({ kind: z.literal('unavailable'), message: z.string() }),
  z.object({ kind: z.literal('embedded'), id: z.number(), vectors: z.array(z.instanceof(Float32Array)) }),
  z.object({ kind: z.literal('failed'), id: z.number(), message: z.string() }),
]);
export type FromEmbedder = z.output<typeof fromEmbedder>;

export interface EmbedderThreadData {
  /** The package that holds the model. */
  readonly modelPackage: string;
  readonly dimensions: number;
}
