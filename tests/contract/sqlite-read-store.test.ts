import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { readStoreContract } from './read-store.ts';

readStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'read-store-'));
  return {
    open: () => openSqliteReadStore({ path: join(folder, 'read.db') }),
    isAtomic: true,
    runs: 50,
    dispose: () => rm(folder, { recursive: true }),
  };
});
