import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { keyStoreContract } from './key-store.ts';

keyStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'key-store-'));
  return {
    open: async () => openSqliteKeyStore({ path: join(folder, 'key.db') }),
    isAtomic: true,
    dispose: () => rm(folder, { recursive: true }),
  };
});
