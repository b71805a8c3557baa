import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { eventStoreContract } from './event-store.ts';

const url = process.env.EVENTSTORE_URL;

if (url) {
  eventStoreContract(
    'EventStoreDB',
    async () => {
      const opened = [openEventStoreDb({ url })];
      const [store] = opened;
      if (!store) throw new Error('one store is open');
      return {
        store,
        async reopen() {
          await store.close();
          const again = openEventStoreDb({ url });
          opened.push(again);
          return again;
        },
        async dispose() {
          for (const one of opened) await one.close();
        },
      };
    },
    { timeoutMs: 60_000 },
  );
} else {
  it('EventStoreDB contract: skipped, EVENTSTORE_URL is not set', function () {
    this.skip();
  });
}
