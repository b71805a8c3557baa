import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { eventStoreContract } from './event-store.ts';

eventStoreContract('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  const path = join(folder, 'events.db');
  const opened = [openSqliteEventStore({ path })];
  const [store] = opened;
  if (!store) throw new Error('one store is open');
  return {
    store,
    async reopen() {
      await store.close();
      const again = openSqliteEventStore({ path });
      opened.push(again);
      return again;
    },
    async dispose() {
      for (const one of opened) await one.close();
      rmSync(folder, { recursive: true });
    },
  };
});
