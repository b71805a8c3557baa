import { DatabaseSync } from 'node:sqlite';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { KeyStore, WrappedKey } from '../../application/ports/key-store.ts';

/**
 * Data keys in a SQLite file of their own. A rollback journal (not WAL) with `secure_delete`: a destroyed key is
 * overwritten in place and no older page image of it stays in any file. `synchronous=EXTRA`, because a journal
 * that came back after a power loss would bring a destroyed key back. Puts of one turn of the event loop share a
 * transaction.
 */
export const openSqliteKeyStore = (options: { readonly path: string }): KeyStore => {
  const db = new DatabaseSync(options.path);
  db.exec(
    'PRAGMA busy_timeout=5000; PRAGMA journal_mode=DELETE; PRAGMA secure_delete=ON; PRAGMA synchronous=EXTRA',
  );
  db.exec('CREATE TABLE IF NOT EXISTS data_keys (id TEXT PRIMARY KEY, wrapped BLOB) WITHOUT ROWID');
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const insert = db.prepare('INSERT INTO data_keys (id, wrapped) VALUES (?, ?) ON CONFLICT (id) DO NOTHING');
  // Zeros of the same length first: the row's cell is overwritten where it is, before it shrinks.
  const overwrite = db.prepare('UPDATE data_keys SET wrapped = zeroblob(length(wrapped)) WHERE id = ?');
  const bury = db.prepare(
    'INSERT INTO data_keys (id, wrapped) VALUES (?, NULL) ON CONFLICT (id) DO UPDATE SET wrapped = NULL',
  );
  const select = db.prepare('SELECT wrapped FROM data_keys WHERE id = ?');

  const transaction = (work: () => void): void => {
    try {
      begin.run();
      try {
        work();
        commit.run();
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    } catch (cause) {
      throw new StoreUnavailable('the key store could not be written', { cause });
    }
  };

  let queue: { keys: readonly WrappedKey[]; resolve: () => void; reject: (error: unknown) => void }[] = [];
  const flush = (): void => {
    const taken = queue;
    queue = [];
    try {
      transaction(() => {
        for (const { keys } of taken) for (const key of keys) insert.run(key.id, key.wrapped);
      });
      for (const { resolve } of taken) resolve();
    } catch (error) {
      for (const { reject } of taken) reject(error);
    }
  };

  return {
    put: (keys) =>
      new Promise((resolve, reject) => {
        if (queue.length === 0) setImmediate(flush);
        queue.push({ keys, resolve, reject });
      }),
    getMany: async (ids) =>
      ids.map((id) => {
        const row = select.get(id);
        if (row === undefined) return undefined;
        return row['wrapped'] instanceof Uint8Array ? row['wrapped'] : 'destroyed';
      }),
    destroy: async (id) => {
      transaction(() => {
        overwrite.run(id);
        bury.run(id);
      });
    },
    ping: async () => {
      select.get('');
    },
    close: async () => {
      if (queue.length > 0) flush();
      db.close();
    },
  };
};
