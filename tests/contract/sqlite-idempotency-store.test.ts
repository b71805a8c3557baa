import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteIdempotencyStore } from '../../infrastructure/idempotency/sqlite.ts';
import { idempotencyStoreContract } from './idempotency-store.ts';

idempotencyStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'idempotency-store-'));
  return {
    open: async () => openSqliteIdempotencyStore({ path: join(folder, 'idempotency.db') }),
    dispose: () => rm(folder, { recursive: true }),
  };
});
