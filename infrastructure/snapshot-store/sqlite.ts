import { DatabaseSync } from 'node:sqlite';
import type { SnapshotStore } from '../../application/ports/snapshot-store.ts';

/** Snapshots in a SQLite file that may be deleted at any time, so commits do not wait for the disk. */
export const openSqliteSnapshotStore = (options: { readonly path: string }): SnapshotStore => {
  const db = new DatabaseSync(options.path);
  db.exec('PRAGMA busy_timeout=5000; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL');
  db.exec(
    'CREATE TABLE IF NOT EXISTS snapshots (stream TEXT PRIMARY KEY, snapshot TEXT NOT NULL) WITHOUT ROWID',
  );
  const select = db.prepare('SELECT snapshot FROM snapshots WHERE stream = ?');
  const upsert = db.prepare(
    'INSERT INTO snapshots (stream, snapshot) VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET snapshot = excluded.snapshot',
  );
  return {
    get: async (stream) => {
      const row = select.get(stream);
      return row === undefined ? undefined : JSON.parse(String(row['snapshot']));
    },
    put: async (stream, snapshot) => {
      upsert.run(stream, JSON.stringify(snapshot));
    },
    close: async () => db.close(),
  };
};
