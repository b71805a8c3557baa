import { join } from 'node:path';
import type { EventStore } from '../../application/ports/event-store.ts';
import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { testLogger } from './fakes.ts';
import type { Server } from './server.ts';

/** Opens a second connection to a server's event log, on either store. The caller closes it. */
export const openLogOf = ({ dataDir, eventStore }: Pick<Server, 'dataDir' | 'eventStore'>): EventStore =>
  eventStore === undefined
    ? openSqliteEventStore({ path: join(dataDir, 'events.db'), logger: testLogger() })
    : openEventStoreDb({ url: eventStore.url, logger: testLogger() });

export const withLogOf = async <T>(server: Server, read: (store: EventStore) => Promise<T>): Promise<T> => {
  const store = openLogOf(server);
  try {
    return await read(store);
  } finally {
    await store.close();
  }
};
