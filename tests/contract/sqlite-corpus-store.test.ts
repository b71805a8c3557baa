import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteCorpusStore } from '../../infrastructure/corpus/sqlite.ts';
import { corpusStoreContract } from './corpus-store.ts';

corpusStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'corpus-store-'));
  return {
    open: () => openSqliteCorpusStore({ path: join(folder, 'corpus.db') }),
    dispose: () => rm(folder, { recursive: true }),
  };
});
