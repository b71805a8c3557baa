import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../support/eventstoredb/start.ts';
import { eventStoreContract } from './event-store.ts';
import { reopening } from './event-store-parts/helpers.ts';

/** The contract with the real client, over the server at `EVENTSTORE_URL`, otherwise over the test server. */
const given = process.env.EVENTSTORE_URL;
let server: TestEventStoreDb | undefined;

before(async () => {
  if (given === undefined) server = await startEventStoreDb();
});
after(() => server?.stop());

eventStoreContract(
  given === undefined ? 'EventStoreDB (test server)' : 'EventStoreDB',
  async () => reopening(() => openEventStoreDb({ url: given ?? server?.url ?? '' })),
  { timeoutMs: 60_000, plans: 15 },
);
