import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { openThreadedSqliteKeyStore } from '../../infrastructure/key-store/threaded-sqlite.ts';
import { keyStoreContract } from './key-store.ts';

for (const [name, open] of [
  ['SQLite', openSqliteKeyStore],
  ['SQLite, written in a thread', openThreadedSqliteKeyStore],
] as const) {
  keyStoreContract(name, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'key-store-'));
    return {
      open: () => open({ path: join(folder, 'key.db') }),
      dispose: () => rm(folder, { recursive: true }),
    };
  });
}
