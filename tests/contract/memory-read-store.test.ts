import { openMemoryReadStore } from '../support/memory-read-store/store.ts';
import { readStoreContract } from './read-store.ts';

readStoreContract('memory', async () => {
  const store = openMemoryReadStore();
  return { open: async () => store, isAtomic: true, runs: 80, dispose: async () => undefined };
});
