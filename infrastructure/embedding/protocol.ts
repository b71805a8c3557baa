import { z } from 'zod';

/** What the embedder and its thread tell each other; one group of texts is under way at a time. */

export const toEmbedder = z.object({ id: z.number(), texts: z.array(z.string()) });
export type ToEmbedder = z.output<typeof toEmbedder>;

export const fromEmbedder = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('loaded') }),
  /** The model cannot be had: its files are missing, or it does not run here. */
  z.object({ kind: z.literal('unavailable'), message: z.string() }),
  /** The vectors, one after the other. */
  z.object({
    kind: z.literal('embedded'),
    id: z.number(),
    vectors: z.instanceof(Float32Array),
  }),
  z.object({ kind: z.literal('failed'), id: z.number(), message: z.string() }),
]);
export type FromEmbedder = z.output<typeof fromEmbedder>;

export interface EmbedderThreadData {
  /** The package that holds the model. */
  readonly modelPackage: string;
  readonly dimensions: number;
}
