/**
 * Sentence embeddings, computed on the host (specification, Assistant: no external embedding). A vector has
 * `dimensions` finite numbers and the length 1, so that a dot product is a cosine.
 */
export interface Embedder {
  /** Vectors of different models are not comparable. */
  readonly model: string;
  readonly dimensions: number;
  /**
   * Returns one vector per text, in order. Questions are embedded before background texts.
   * @throws {EmbedderUnavailable}
   * @throws {StoreUnavailable} after `close`, when the worker ended during the call, or when too many questions wait
   * @throws {Error} when the model fails on a text
   */
  embed(texts: readonly string[], urgency: Urgency): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

/** A person waits for the vector of a `question`. */
export type Urgency = 'question' | 'background';

/** No model: switched off, files missing, or loading failed. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}
