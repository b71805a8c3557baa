import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqliteIdempotencyStore } from '../../infrastructure/idempotency/sqlite.ts';
import { idempotencyStoreContract } from './idempotency-store.ts';

idempotencyStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'idempotency-store-'));
  return {
    open: async () => openSqliteIdempotencyStore({ path: join(folder, 'idempotency.db') }),
    dispose: () => rm(folder, { recursive: true }),
  };
});

describe('SQLite idempotency store', () => {
  it('lets other work run while it removes many expired rows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'idempotency-store-'));
    const store = await openSqliteIdempotencyStore({ path: join(folder, 'idempotency.db') });
    const use = { fingerprint: 'ab'.repeat(32), nonce: randomUUID() };
    await Promise.all(Array.from({ length: 1001 }, (_, nth) => store.begin('acme/ann', `${nth}`, use, nth)));
    let [ticks, isOver] = [0, false];
    const count = (): void => {
      ticks += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await store.sweep(999);
    isOver = true;
    expect(ticks).to.be.at.least(5);
    expect((await Array.fromAsync(store.list())).map(({ key }) => key)).to.deep.equal(['1000']);
    await store.close();
    await rm(folder, { recursive: true });
  });
});
