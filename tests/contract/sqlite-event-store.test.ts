import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { eventStoreContract } from './event-store.ts';
import { reopening } from './event-store-parts/helpers.ts';

eventStoreContract('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  const path = join(folder, 'events.db');
  const fixture = reopening(() => openSqliteEventStore({ path }));
  return {
    ...fixture,
    async dispose() {
      await fixture.dispose();
      rmSync(folder, { recursive: true });
    },
  };
});
