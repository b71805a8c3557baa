import { setImmediate as yieldTick } from 'node:timers/promises';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { TenantIndexes } from '../../application/assistant/tenant-indexes.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { openCorpus } from '../../infrastructure/stores.ts';
import type { FromRetrieval, RetrievalThreadData, ToRetrieval } from './retrieval.ts';

/** Maximum bytes of all tenants' indexes. */
const MAX_BYTES = 768 * 1024 * 1024;

const run = async (): Promise<void> => {
  if (isMainThread || parentPort === null) throw new Error('this file is a worker thread');
  const port = parentPort;
  // Not validated: `threadedSearch` of the same release made the data.
  const { config, model, dimensions } = workerData as RetrievalThreadData;
  const store = await openCorpus(config);
  const indexes = new TenantIndexes({
    store,
    model,
    dimensions,
    maxBytes: MAX_BYTES,
    yieldTick,
  });
  const post = (message: FromRetrieval): void => port.postMessage(message);
  port.on('message', ({ id, tenantId, query }: ToRetrieval) => {
    indexes.search(tenantId, query).then(
      (passages) => post({ kind: 'found', id, passages }),
      (error: unknown) =>
        post({
          kind: 'failed',
          id,
          isUnavailable: error instanceof StoreUnavailable,
          message: error instanceof Error ? error.message : String(error),
        }),
    );
  });
};

await run();
