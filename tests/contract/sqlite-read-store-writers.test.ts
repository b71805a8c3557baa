import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { rejectsWith } from './read-store/support.ts';

describe('SQLite read store: many writers of one file', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'read-store-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('wait for each other without an error', async () => {
    const path = join(folder, 'shared.db');
    const tags = ['v1', 'v2', 'v3', 'v4'];
    const workers = tags.map(
      (tag) =>
        new Worker(new URL('../support/read-store-writer.ts', import.meta.url), {
          workerData: { path, tag, batches: 100 },
        }),
    );
    const endings = await Promise.all(workers.map((worker) => once(worker, 'message')));
    expect(endings.flat()).to.deep.equal(['done', 'done', 'done', 'done']);
    const store = await openSqliteReadStore({ path });
    for (const tag of tags) {
      const generation = { projection: 'shared', tag };
      expect((await store.state(generation)).checkpoint).to.equal('00000100');
      const query = { collection: 'docs', tenant: 'acme', index: 'by_n', limit: 2_000 };
      expect((await store.find(generation, query)).docs).to.have.length(1_000);
    }
    await store.close();
  });

  it('get StoreUnavailable from a closed store, and for a path that is a folder', async () => {
    const store = await openSqliteReadStore({ path: join(folder, 'closed.db') });
    await store.close();
    await store.close();
    await rejectsWith(store.ping(), StoreUnavailable);
    await rejectsWith(openSqliteReadStore({ path: join(folder) }), StoreUnavailable);
  });
});
