import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
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

  it('are not mistaken for a lost index by a list for checks', async () => {
    const path = join(folder, 'listed.db');
    const generation = { projection: 'shared', tag: 'v1' };
    const worker = new Worker(new URL('../support/read-store-writer.ts', import.meta.url), {
      workerData: { path, tag: 'v1', batches: 500 },
    });
    let hasEnded = false;
    const ended = once(worker, 'message').then(() => {
      hasEnded = true;
    });
    const store = await openSqliteReadStore({ path });
    let listed = 0;
    while (!hasEnded) {
      const page = await store.list(generation, 'docs', undefined, 100);
      expect(page.filter(({ isIndexed }) => !isIndexed)).to.deep.equal([]);
      listed += page.length;
      await nextTick();
    }
    await ended;
    expect(listed).to.be.greaterThan(1000);
    await store.close();
  });

  it('get StoreUnavailable from a closed store, and for a path that is a folder', async () => {
    const store = await openSqliteReadStore({ path: join(folder, 'closed.db') });
    await store.close();
    await store.close();
    await rejectsWith(store.ping(), StoreUnavailable);
    await rejectsWith(store.acquireLease('work', 'a', 1000), StoreUnavailable);
    await rejectsWith(store.isLeaseHeld('work'), StoreUnavailable);
    await rejectsWith(openSqliteReadStore({ path: join(folder) }), StoreUnavailable);
  });
});
