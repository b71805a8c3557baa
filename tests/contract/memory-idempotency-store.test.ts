import { memoryIdempotencyStore } from '../support/memory-idempotency-store.ts';
import { idempotencyStoreContract } from './idempotency-store.ts';

idempotencyStoreContract('memory', async () => {
  const store = memoryIdempotencyStore();
  return { open: async () => store, dispose: async () => undefined };
});
