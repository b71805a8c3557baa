import { type Embedder, EmbedderUnavailable } from '../../application/ports/embedder.ts';
import { BUNDLED_MODEL, DIMENSIONS } from './threaded-embedder.ts';

/** The embedder of `EMBEDDING_MODEL=off`. */
export const noEmbedder: Embedder = {
  model: BUNDLED_MODEL,
  dimensions: DIMENSIONS,
  embed: () => Promise.reject(new EmbedderUnavailable('The embedding model is switched off.')),
  close: () => Promise.resolve(),
};
