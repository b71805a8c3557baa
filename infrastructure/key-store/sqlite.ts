import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { KeyStore } from '../../application/ports/key-store.ts';
import { openSqlite, type Row, type SqliteConnection, textOf } from '../sqlite/connection.ts';
import { groupedWrites } from '../sqlite/grouped-writes.ts';

/**
 * New rows go to the end of a table with rowids, so no row moves to another page. A row that moves leaves a copy of its
 * key, which stays when the key is destroyed (decision 6): as in tables of earlier versions, which have no rowids.
 */
const SCHEMA = 'CREATE TABLE IF NOT EXISTS data_keys (id TEXT PRIMARY KEY, wrapped BLOB)';
const IS_FORMER = "SELECT 1 FROM sqlite_master WHERE name = 'data_keys' AND sql LIKE '%WITHOUT ROWID'";
const CONVERT = `
  ALTER TABLE data_keys RENAME TO former_keys;
  ${SCHEMA};
  INSERT INTO data_keys (id, wrapped) SELECT id, wrapped FROM former_keys;
  DROP TABLE former_keys;`;
const PRAGMAS = ['journal_mode = WAL', 'synchronous = FULL', 'secure_delete = ON'];

const INSERT = 'INSERT INTO data_keys (id, wrapped) VALUES (?, ?) ON CONFLICT (id) DO NOTHING';
// Zeros of the same length overwrite the key in place before its row shrinks.
const OVERWRITE = 'UPDATE data_keys SET wrapped = zeroblob(length(wrapped)) WHERE id = ?';
const PUT_TOMBSTONE =
  'INSERT INTO data_keys (id, wrapped) VALUES (?, NULL) ON CONFLICT (id) DO UPDATE SET wrapped = NULL';
const REPLACE = 'UPDATE data_keys SET wrapped = ? WHERE id = ? AND wrapped = ?';
const SELECT = 'SELECT wrapped FROM data_keys WHERE id = ?';

const NEXT_ROWS = 'SELECT id, wrapped FROM data_keys WHERE id > ? ORDER BY id LIMIT 500';

const CHECKPOINT_TIMEOUT_MS = 5000;

/**
 * Data keys in a SQLite file of their own, which several processes may open. Puts of one tick share a transaction.
 * The write-ahead log keeps older page images, so a key counts as destroyed only when the log is checkpointed and
 * truncated (docs/decisions/0006-keys-in-a-truncated-wal.md).
 * @throws {StoreUnavailable} when the file cannot be opened
 */
export async function openSqliteKeyStore({ path }: { readonly path: string }): Promise<KeyStore> {
  const connection = await openSqlite({ path, pragmas: PRAGMAS, schema: SCHEMA });
  const { prepare, read } = connection;
  const grouped = groupedWrites(connection);
  const truncated = sharedTruncation(connection);
  return {
    put: (keys) =>
      grouped(() => {
        for (const key of keys) prepare(INSERT).run(key.id, key.wrapped);
      }),
    getMany: (ids) =>
      read(() =>
        ids.map((id) => {
          const row = prepare(SELECT).get(id);
          if (row === undefined) return undefined;
          return wrappedIn(row);
        }),
      ),
    destroy: async (id) => {
      await grouped(() => {
        prepare(OVERWRITE).run(id);
        prepare(PUT_TOMBSTONE).run(id);
      });
      await truncated();
    },
    replace: async (id, from, to) => {
      const changes = await grouped(() => prepare(REPLACE).run(to, id, from).changes);
      if (Number(changes) === 0) return false;
      await truncated();
      return true;
    },
    list: async function* () {
      for (let after = ''; ; ) {
        const rows = await read(() => prepare(NEXT_ROWS).all(after));
        if (rows.length === 0) return;
        for (const row of rows) {
          after = textOf(row, 'id');
          yield { id: after, wrapped: wrappedIn(row) };
        }
      }
    },
    ping: connection.ping,
    close: connection.close,
  };
}

/**
 * Gives a key store of an earlier version rows that do not move; `secure_delete` overwrites what the former rows left in
 * the file. Servers of any version may have it open: they wait meanwhile. The write-ahead log grows to twice the size of
 * the file, and the file doubles. May be repeated, also after a crash.
 * @returns false for a store that had such rows already
 * @throws {StoreUnavailable}
 */
export async function convertKeyStore({ path }: { readonly path: string }): Promise<boolean> {
  const connection = await openSqlite({ path, pragmas: PRAGMAS, schema: SCHEMA });
  try {
    const isFormer = await connection.write(() => {
      const found = connection.prepare(IS_FORMER).get() !== undefined;
      if (found) connection.exec(CONVERT);
      return found;
    });
    await sharedTruncation(connection)();
    return isFormer;
  } finally {
    await connection.close();
  }
}

const wrappedIn = ({ wrapped }: Row): Uint8Array | 'destroyed' =>
  wrapped instanceof Uint8Array ? wrapped : 'destroyed';

/** Truncates the write-ahead log; calls share a run that has not begun. */
function sharedTruncation(connection: SqliteConnection): () => Promise<void> {
  let next: Promise<void> | undefined;
  const truncate = async (): Promise<void> => {
    // A change that is written after this run began needs another run.
    await Promise.resolve();
    next = undefined;
    const deadline = Date.now() + CHECKPOINT_TIMEOUT_MS;
    for (;;) {
      const row = await connection.read(() => connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get());
      if (row?.busy === 0) return;
      if (Date.now() > deadline)
        throw new StoreUnavailable('a destroyed key could not be removed from the key store’s files');
      await delay(2 + Math.random() * 8);
    }
  };
  return () => {
    next ??= truncate();
    return next;
  };
}
