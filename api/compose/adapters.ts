import type { PassageSearch } from '../../application/assistant/tenant-indexes.ts';
import type { CorpusStore } from '../../application/ports/corpus-store.ts';
import type { Embedder } from '../../application/ports/embedder.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Config } from '../../infrastructure/config.ts';
import { noEmbedder, threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { guardedHttp } from '../../infrastructure/http/guarded-http.ts';
import { argon2Passwords } from '../../infrastructure/identity/passwords.ts';
import { loopUtilization } from '../../infrastructure/loop-utilization.ts';
import { storeSizes } from '../../infrastructure/store-sizes.ts';
import { openStores } from '../../infrastructure/stores.ts';
import { watchEventLoop } from '../event-loop.ts';
import { threadedSearch } from '../threads/retrieval.ts';

/** Adapters that the simulation replaces (decision 58). */
export interface Adapters {
  readonly openStores: typeof openStores;
  readonly guardedHttp: typeof guardedHttp;
  readonly passwords: typeof argon2Passwords;
  /** The embedding model, and the search over its vectors. */
  readonly embedding: (
    config: Config,
    logger: Logger,
    corpus: CorpusStore,
  ) => { readonly embedder: Embedder; readonly search: PassageSearch };
  /** Starts to measure the event loop. @returns a function that gives its busy share of time, 0 to 1 */
  readonly utilization: () => () => number;
  /** Whether a process with `ROLE=all` folds projections in a thread. */
  readonly foldsInThread: boolean;
  /** Bytes of the embedded stores' files. */
  readonly storeSizes: typeof storeSizes;
  /** Starts to measure the ticks of this process. @returns a function that stops the measurement */
  readonly watchEventLoop: typeof watchEventLoop;
}

const threadedEmbedding: Adapters['embedding'] = (config, logger) => {
  const embedder = config.EMBEDDING_MODEL === 'off' ? noEmbedder : threadedEmbedder({ logger });
  const { model, dimensions } = embedder;
  return { embedder, search: threadedSearch({ config, model, dimensions }, { logger }) };
};

export const nodeAdapters: Adapters = {
  openStores,
  guardedHttp,
  passwords: argon2Passwords,
  embedding: threadedEmbedding,
  utilization: loopUtilization,
  foldsInThread: true,
  storeSizes,
  watchEventLoop,
};
