/**
 * Sentence embeddings, computed on the host (specification, Assistant: no external embedding). A vector has
 * `dimensions` finite numbers and the length 1, so that a dot product is a cosine.
 */
export interface Embedder {
  /** Vectors of different models are never compared. */
  readonly model: string;
  readonly dimensions: number;
  /**
   * One vector for each text, in order. A question overtakes everything that waits in the background.
   * @throws {EmbedderUnavailable}
   * @throws {StoreUnavailable} once it is closed, and when what computes ended in the middle
   */
  embed(texts: readonly string[], urgency: Urgency): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

/** Somebody waits for a question's answer; the corpus comes second. */
export type Urgency = 'question' | 'background';

/** There is no model: switched off, its files are missing, or it cannot be loaded. */
export class EmbedderUnavailable extends Error {
  override readonly name = 'EmbedderUnavailable';
}
