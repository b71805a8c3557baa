import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { convertKeyStore, openSqliteKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { keyStoreContract } from './key-store.ts';

keyStoreContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'key-store-'));
  return {
    open: async () => openSqliteKeyStore({ path: join(folder, 'key.db') }),
    isAtomic: true,
    dispose: () => rm(folder, { recursive: true }),
  };
});

describe('The file of the SQLite key store', () => {
  const MARK = Buffer.from('a key of this test:');
  const COUNT = 4000;
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'key-store-'));
    path = join(folder, 'keys.db');
  });
  afterEach(() => rm(folder, { recursive: true }));

  /** Keys of people and pages of keys in no order of their ids, each with the mark; the same in each run. */
  const newKeys = () =>
    Array.from({ length: COUNT }, (_, nth) => {
      const name = createHash('sha256').update(String(nth)).digest('hex');
      const isPage = nth % 25 === 24;
      const rest = Buffer.alloc(isPage ? 4105 : 41, name);
      const id = isPage ? `page:${name.slice(0, 32)}` : `t_${name.slice(0, 10)}/person-${name.slice(10, 42)}`;
      return { id, wrapped: new Uint8Array(Buffer.concat([MARK, rest])) };
    });

  const copies = async (): Promise<number> => {
    const bytes = await readFile(path);
    let found = 0;
    for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) found += 1;
    return found;
  };

  const putAll = async (keys: ReturnType<typeof newKeys>): Promise<void> => {
    const store = await openSqliteKeyStore({ path });
    for (let at = 0; at < keys.length; at += 10) await store.put(keys.slice(at, at + 10));
    await store.close();
  };

  it('holds each key once, however many keys are stored, and none that was destroyed', async () => {
    const keys = newKeys();
    await putAll(keys);
    expect(await copies()).to.equal(COUNT);
    const store = await openSqliteKeyStore({ path });
    await Promise.all(keys.map(({ id }) => store.destroy(id)));
    await store.close();
    expect(await copies()).to.equal(0);
  });

  it('holds each key of an earlier version once after it is converted', async () => {
    const keys = newKeys();
    const former = new DatabaseSync(path);
    former.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON');
    former.exec('CREATE TABLE data_keys (id TEXT PRIMARY KEY, wrapped BLOB) WITHOUT ROWID');
    const insert = former.prepare('INSERT INTO data_keys (id, wrapped) VALUES (?, ?)');
    for (const { id, wrapped } of keys) insert.run(id, wrapped);
    former.prepare('INSERT INTO data_keys (id, wrapped) VALUES (?, NULL)').run('acme/destroyed');
    former.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const before = await copies();
    const store = await openSqliteKeyStore({ path });
    expect(before).to.be.greaterThan(COUNT);
    expect(await copies()).to.equal(before);
    expect([await convertKeyStore({ path }), await convertKeyStore({ path })]).to.deep.equal([true, false]);
    expect(await copies()).to.equal(COUNT);
    const ids = keys.map(({ id }) => id);
    expect(await store.getMany([...ids, 'acme/destroyed'])).to.deep.equal([
      ...keys.map(({ wrapped }) => wrapped),
      'destroyed',
    ]);
    // A process of the earlier version goes on.
    insert.run('acme/late', keys[0]?.wrapped ?? null);
    expect(await store.getMany(['acme/late'])).to.deep.equal([keys[0]?.wrapped]);
    former.close();
    await store.close();
  });
});
