import { openMemoryEventStore } from '../support/memory-event-store.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract('memory', async () => {
  const store = openMemoryEventStore();
  return { store, dispose: () => store.close() };
});
