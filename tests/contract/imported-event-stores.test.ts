import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventStore } from '../../application/ports/event-store.ts';
import { openEventStoreDbImport } from '../../infrastructure/event-store/eventstoredb/import.ts';
import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { openSqliteImport } from '../../infrastructure/event-store/sqlite/import.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../support/eventstoredb/start.ts';
import { exportedEvents, importAll } from '../support/imported-logs.ts';
import { eventStoreContract } from './event-store.ts';
import { reopening } from './event-store-parts/helpers.ts';

/** The contract holds on stores into which a log was imported, whose positions are those of another store. */
/** The same code as without an import, whose contract tries forty. */
const PLANS = 10;
let folder: string;
let server: TestEventStoreDb;
/** Keeps the process's connection open: its client waits five seconds for streams that a store has left open. */
let held: EventStore;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imported-'));
  await importAll(openSqliteImport(join(folder, 'events.db')), exportedEvents(2000, 700));
  server = await startEventStoreDb();
  await importAll(openEventStoreDbImport(server.url), exportedEvents(2000, 1_000_000));
  held = openEventStoreDb({ url: server.url });
});
after(async () => {
  await held?.close();
  await server?.stop();
  await rm(folder, { recursive: true });
});

eventStoreContract(
  'SQLite, after an import',
  async () => reopening(() => openSqliteEventStore({ path: join(folder, 'events.db') })),
  { plans: PLANS },
);

eventStoreContract(
  'EventStoreDB (test server), after an import',
  async () => reopening(() => openEventStoreDb({ url: server.url })),
  { timeoutMs: 60_000, plans: PLANS },
);
