import { memoryCorpusStore } from '../../infrastructure/corpus/memory.ts';
import { corpusStoreContract } from './corpus-store.ts';

corpusStoreContract('memory', async () => {
  const store = memoryCorpusStore();
  return { open: async () => store, dispose: async () => undefined };
});
