import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
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

const STORE = new URL('../../infrastructure/idempotency/sqlite.ts', import.meta.url).href;

describe('SQLite idempotency store', () => {
  it('lists large answers within little memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'idempotency-store-'));
    const path = join(folder, 'idempotency.db');
    const store = await openSqliteIdempotencyStore({ path });
    const answer = { fingerprint: 'ab', status: 201, headers: {}, body: 'x'.repeat(1_000_000) };
    for (let nth = 0; nth < 150; nth += 1) await store.put('acme/ann', `${nth}`, answer, 1);
    await store.close();
    const script = `import { openSqliteIdempotencyStore } from '${STORE}';
      const store = await openSqliteIdempotencyStore({ path: ${JSON.stringify(path)} });
      let count = 0;
      for await (const _ of store.list()) count += 1;
      console.log(count);`;
    const options = ['--max-old-space-size=96', '--input-type=module', '--eval', script];
    expect((await promisify(execFile)(process.execPath, options)).stdout).to.equal('150\n');
    await rm(folder, { recursive: true });
  });

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
