/** Messages between the embedder and its thread; one group of texts is in flight at a time. */

export interface ToEmbedder {
  readonly id: number;
  readonly texts: readonly string[];
}

export type FromEmbedder =
  | { readonly kind: 'loaded' }
  /** The model cannot be used: its files are missing, or it does not run here. */
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'embedded'; readonly id: number; readonly vectors: readonly Float32Array[] }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };

export interface EmbedderThreadData {
  /** The package that holds the model. */
  readonly modelPackage: string;
  readonly dimensions: number;
}
