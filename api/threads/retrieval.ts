import type { Worker } from 'node:worker_threads';
import type { IndexQuery } from '../../application/assistant/search-index.ts';
import type { Passage, PassageSearch } from '../../application/assistant/tenant-indexes.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { Config } from '../../infrastructure/config.ts';
import { startThread } from '../../infrastructure/threads.ts';

export interface RetrievalThreadData {
  readonly config: Config;
  readonly model: string;
  readonly dimensions: number;
}

/** Messages between the main thread and the search thread of the same release, so they are not validated. */
export interface ToRetrieval {
  readonly id: number;
  readonly tenantId: string;
  readonly query: IndexQuery;
}

export type FromRetrieval =
  | { readonly kind: 'found'; readonly id: number; readonly passages: readonly Passage[] }
  /** `isUnavailable`: the corpus cannot be reached. */
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly isUnavailable: boolean;
      readonly message: string;
    };

/**
 * Searches in a worker thread, which holds the tenants' indexes and reads the corpus, so that neither loading nor
 * searching blocks requests. The first question starts the thread; if it ends, the next question starts a new one.
 */
export const threadedSearch = (data: RetrievalThreadData, { logger }: { logger: Logger }): PassageSearch => {
  const waiting = new Map<number, PromiseWithResolvers<readonly Passage[]>>();
  let worker: Worker | undefined;
  let lastId = 0;
  let closed = false;

  const failAll = (): void => {
    for (const { reject } of waiting.values()) reject(new StoreUnavailable('The search has ended.'));
    waiting.clear();
  };
  const start = (): Worker => {
    const thread = startThread('retrieval', new URL('./retrieval.worker.ts', import.meta.url), {
      workerData: data,
    });
    thread.unref();
    thread.on('message', (message: FromRetrieval) => {
      const asker = waiting.get(message.id);
      waiting.delete(message.id);
      if (message.kind === 'found') asker?.resolve(message.passages);
      else {
        const { isUnavailable, message: text } = message;
        asker?.reject(isUnavailable ? new StoreUnavailable(text) : new Error(text));
      }
    });
    thread.on('error', (error) => logger.error({ err: error }, 'the search thread failed'));
    thread.once('exit', () => {
      worker = undefined;
      failAll();
    });
    return thread;
  };

  return {
    search: (tenantId: string, query: IndexQuery) => {
      if (closed) return Promise.reject(new StoreUnavailable('The search has ended.'));
      worker ??= start();
      lastId += 1;
      const asked = Promise.withResolvers<readonly Passage[]>();
      waiting.set(lastId, asked);
      worker.postMessage({ id: lastId, tenantId, query } satisfies ToRetrieval);
      return asked.promise;
    },
    close: async () => {
      closed = true;
      failAll();
      await worker?.terminate();
    },
  };
};
