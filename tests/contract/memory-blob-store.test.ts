import { memoryBlobStore } from '../support/memory-blob-store.ts';
import { blobStoreContract } from './blob-store.ts';

blobStoreContract('memory', async () => {
  const store = memoryBlobStore(Date.now);
  return {
    open: async () => store,
    leftovers: async () => store.incoming.size,
    abandonPut: async (_store, at) => void store.incoming.set(Symbol('put'), at),
    dispose: async () => undefined,
  };
});
