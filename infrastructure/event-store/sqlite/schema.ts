import { DatabaseSync } from 'node:sqlite';
import { isTransient } from '../../sqlite/errors.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { UnfinishedImport } from '../log-import.ts';
import { importedPart } from './imported.ts';

/**
 * The columns by which scans filter come before the long texts, so that a scan need not read the pages of the texts.
 * `types` maps types to numbers, because many events have the same type. Ids have no unique index: stores accept the
 * same id twice, and random keys are expensive to insert.
 * `type_blocks` and `owner_blocks` (blocks.ts) replace an index by type, which would slow appends.
 * Logs of the first version hold events as texts only; later ones also pack events, with the table `shapes`
 * (event-rows.ts). Both are read and written.
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
`;
const TEXTS = 1;
const PACKED = 2;
const PACKED_SCHEMA = `
  CREATE TABLE IF NOT EXISTS shapes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  PRAGMA user_version = ${PACKED};
`;

/** Time (ms) that a statement may block the event loop for another process's transaction. */
const BUSY_TIMEOUT_MS = 5;
const OPEN_TIMEOUT_MS = 5000;

/**
 * Opens the file and creates the schema if it is new. While another process does the same, each of these two steps
 * blocks up to 5 s.
 * @throws when the file cannot be opened, was written by a newer version, or holds an incomplete import
 */
export function openDatabase(
  path: string,
  {
    maxPages,
    isImport = false,
  }: { readonly maxPages?: number | undefined; readonly isImport?: boolean } = {},
): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // Switching to WAL ignores the busy timeout.
    waitingForLocks(() => db.exec('PRAGMA journal_mode = WAL'));
    db.exec('PRAGMA synchronous = FULL');
    // Fewer checkpoints than by default, because a checkpoint writes pages at random places of the file.
    db.exec('PRAGMA wal_autocheckpoint = 4000');
    waitingForLocks(() => ensureSchema(db));
    if (!isImport && importedPart(db)?.isComplete === false) throw new UnfinishedImport();
    if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${maxPages}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function ensureSchema(db: DatabaseSync): void {
  const found = versionOf(db);
  if (found === TEXTS || found === PACKED) return;
  if (found !== 0) throw new Error(`the event log has schema ${found}; this version supports ${PACKED}`);
  transaction(db, () => {
    // Another process, perhaps of a former build, may have created the schema meanwhile.
    if (versionOf(db) === 0) db.exec(SCHEMA + PACKED_SCHEMA);
  });
}

const versionOf = (db: DatabaseSync): unknown => db.prepare('PRAGMA user_version').get()?.user_version;

/** Whether new events of the log are packed. */
export const isPacked = (db: DatabaseSync): boolean => versionOf(db) === PACKED;

/**
 * Lets a log of the first version pack its new events. Servers of this build that have the log open pack at once; a
 * former build can no longer read the log. Stored events stay as they are.
 * @returns false for a log that already packs its new events
 */
export function packNewEvents(path: string): boolean {
  using db = openDatabase(path);
  waitingForLocks(() => db.exec('BEGIN IMMEDIATE'));
  const isFirst = versionOf(db) === TEXTS;
  if (isFirst) db.exec(PACKED_SCHEMA);
  db.exec('COMMIT');
  return isFirst;
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
