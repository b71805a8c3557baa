import { memoryCorpusStore } from '../support/memory-corpus-store.ts';
import { corpusStoreContract } from './corpus-store.ts';

corpusStoreContract('memory', async () => {
  const store = memoryCorpusStore();
  return { open: async () => store, dispose: async () => undefined };
});
