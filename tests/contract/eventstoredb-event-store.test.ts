import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { eventStoreContract } from './event-store.ts';
import { reopening } from './event-store-parts/helpers.ts';

const url = process.env.EVENTSTORE_URL;

if (url) {
  eventStoreContract('EventStoreDB', async () => reopening(() => openEventStoreDb({ url })), {
    timeoutMs: 60_000,
  });
} else {
  it('EventStoreDB contract: skipped, EVENTSTORE_URL is not set', function () {
    this.skip();
  });
}
