import { openMemoryEventStore } from '../../infrastructure/event-store/memory.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract('memory', async () => {
  const store = openMemoryEventStore();
  return { store, dispose: () => store.close() };
});
