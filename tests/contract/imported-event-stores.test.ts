import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EventStore } from '../../application/ports/event-store.ts';
import { openEventStoreDbImport } from '../../infrastructure/event-store/eventstoredb/import.ts';
import { openEventStoreDb } from '../../infrastructure/event-store/eventstoredb/store.ts';
import { openSqliteImport } from '../../infrastructure/event-store/sqlite/import.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../support/eventstoredb/start.ts';
import { exportedEvents, importAll } from '../support/imported-logs.ts';
import { eventStoreContract } from './event-store.ts';
import { reopening } from './event-store-parts/helpers.ts';

/** The contract on stores with an imported log, whose positions come from another store. */

/** Fewer random plans than without an import, since only positions differ. */
const PLANS = 5;
/** More than the import on EventStoreDB reads at once. */
const EVENTS = 1100;

describe('Stores with an imported log', () => {
  let folder: string;
  let server: TestEventStoreDb;
  /** Keeps the connection of the process open, since closing it after each test takes five seconds. */
  let held: EventStore;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'imported-'));
    await importAll(openSqliteImport(join(folder, 'events.db')), exportedEvents(EVENTS, 700));
    server = await startEventStoreDb();
    await importAll(openEventStoreDbImport(server.url), exportedEvents(EVENTS, 1_000_000));
    held = openEventStoreDb({ url: server.url });
  });
  after(async () => {
    await held?.close();
    await server?.stop();
    await rm(folder, { recursive: true });
  });

  describe('A scan of an imported log on EventStoreDB', () => {
    for (const [name, filter] of [
      ['without a filter', undefined],
      ['by type', { types: ['NoteRemoved'] }],
      ['by stream', { streamPrefix: 't1.' }],
    ] as const) {
      it(`ends at the last imported event, and not at the notes of the import, ${name}`, async () => {
        const { position, next } = await held.scanAll({ filter, limit: 5000 }, 100_000);
        expect(next).to.equal(undefined);
        expect(position).to.equal(await held.end());
      });
    }
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
});
