import { DatabaseSync } from 'node:sqlite';
import { isTransient } from './errors.ts';

/**
 * Columns that a scan filters by come first: SQLite then finds them without touching the pages of a long text.
 * `types` is a table of numbers because a type is repeated in every event. Ids have no unique index: the same id
 * may be stored twice (as EventStoreDB does), and random keys would be the dearest part of an append.
 * An index by type would cost a third of the append rate; `type_blocks` and `owner_blocks` (see blocks.ts) cost
 * a row per thousand events.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS streams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    type_id INTEGER NOT NULL,
    id TEXT NOT NULL,
    data TEXT NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (stream_id, revision)
  );
  CREATE TABLE IF NOT EXISTS type_blocks (
    type_id INTEGER NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (type_id, block)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS owner_blocks (
    owner TEXT NOT NULL, block INTEGER NOT NULL, PRIMARY KEY (owner, block)
  ) WITHOUT ROWID;
  PRAGMA user_version = 1;
`;
const VERSION = 1;

/** How long a statement may block the event loop for another process's transaction. */
const BUSY_TIMEOUT_MS = 5;
const OPEN_TIMEOUT_MS = 5000;

/**
 * Opens the file and makes the schema where it is new. Blocks up to 5 s while another process does the same.
 * @throws when the file cannot be opened, or was written by a newer version
 */
export function openDatabase(path: string, maxPages: number | undefined): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // Switching to WAL does not wait for locks by itself, so that the busy timeout alone would not do.
    waitingForLocks(() => db.exec('PRAGMA journal_mode = WAL'));
    db.exec('PRAGMA synchronous = FULL');
    // Checkpoints write pages of many streams at random: four times fewer of them than by default.
    db.exec('PRAGMA wal_autocheckpoint = 4000');
    waitingForLocks(() => ensureSchema(db));
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function ensureSchema(db: DatabaseSync): void {
  const found = db.prepare('PRAGMA user_version').get()?.user_version;
  if (found === VERSION) return;
  if (found !== 0) throw new Error(`the event log has schema ${found}, this program knows ${VERSION}`);
  db.exec('BEGIN IMMEDIATE');
  try {
    db.exec(SCHEMA);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function waitingForLocks(step: () => void): void {
  const deadline = performance.now() + OPEN_TIMEOUT_MS;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (;;) {
    try {
      step();
      return;
    } catch (error) {
      if (!isTransient(error) || performance.now() > deadline) throw error;
      Atomics.wait(cell, 0, 0, 10);
    }
  }
}
