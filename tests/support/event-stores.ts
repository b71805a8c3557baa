import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventStore } from '../../application/ports/event-store.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { openMemoryEventStore } from './memory-event-store.ts';

/** Runs `suite` for each embedded event store; `open` returns an empty one, closed after the test. */
export const withEachEventStore = (suite: (open: () => Promise<EventStore>) => void): void => {
  for (const kind of ['memory', 'SQLite'] as const) {
    describe(`over the ${kind} event store`, () => {
      const opened: (() => Promise<void>)[] = [];
      afterEach(async () => {
        for (const close of opened.splice(0)) await close();
      });
      suite(async () => {
        if (kind === 'memory') {
          const store = openMemoryEventStore();
          opened.push(() => store.close());
          return store;
        }
        const folder = await mkdtemp(join(tmpdir(), 'commands-'));
        const store = openSqliteEventStore({ path: join(folder, 'events.db') });
        opened.push(async () => {
          await store.close();
          await rm(folder, { recursive: true });
        });
        return store;
      });
    });
  }
};
