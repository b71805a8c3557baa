import { z } from 'zod';
import type { SnapshotStore } from '../../application/ports/snapshot-store.ts';
import { openSqlite, textOf } from '../sqlite/connection.ts';
import { groupedWrites } from '../sqlite/grouped-writes.ts';

const SCHEMA =
  'CREATE TABLE IF NOT EXISTS snapshots (stream TEXT PRIMARY KEY, snapshot TEXT NOT NULL) WITHOUT ROWID';
const SELECT = 'SELECT snapshot FROM snapshots WHERE stream = ?';
const UPSERT = `INSERT INTO snapshots (stream, snapshot) VALUES (?, ?)
  ON CONFLICT (stream) DO UPDATE SET snapshot = excluded.snapshot`;

const snapshotSchema = z.object({
  stateVersion: z.number(),
  revision: z.number(),
  hash: z.string(),
  position: z.string(),
  at: z.number(),
  state: z.string(),
});

/** Snapshots in a SQLite file that may be deleted at any time, so commits do not wait for the disk. */
export async function openSqliteSnapshotStore({ path }: { readonly path: string }): Promise<SnapshotStore> {
  const pragmas = ['journal_mode = WAL', 'synchronous = NORMAL'];
  const connection = await openSqlite({ path, pragmas, schema: SCHEMA });
  const { prepare, read } = connection;
  const grouped = groupedWrites(connection);
  return {
    get: (stream) =>
      read(() => {
        const row = prepare(SELECT).get(stream);
        return row === undefined ? undefined : snapshotSchema.parse(JSON.parse(textOf(row, 'snapshot')));
      }),
    put: (stream, snapshot) =>
      grouped(() => {
        prepare(UPSERT).run(stream, JSON.stringify(snapshot));
      }),
    close: connection.close,
  };
}
