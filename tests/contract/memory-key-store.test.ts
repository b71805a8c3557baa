import { memoryKeyStore } from '../support/memory-key-store.ts';
import { keyStoreContract } from './key-store.ts';

keyStoreContract('memory', async () => {
  const store = memoryKeyStore();
  return { open: async () => store, isAtomic: true, dispose: async () => undefined };
});
