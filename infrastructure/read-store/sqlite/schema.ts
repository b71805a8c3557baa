import { MEMORY } from '../../../application/ports/memory.ts';

/**
 * All tables except documents. `collections` numbers the collections of generations, for names of tables.
 * AUTOINCREMENT never reuses a number, so that a statement prepared by another process for a dropped generation never
 * reaches another table.
 * A row of `leases` outlives its lease, because fences must never restart.
 */
export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS generations (
    projection TEXT NOT NULL, tag TEXT NOT NULL, checkpoint TEXT,
    PRIMARY KEY (projection, tag)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS collections (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    projection TEXT NOT NULL, tag TEXT NOT NULL, collection TEXT NOT NULL, indexes TEXT NOT NULL,
    UNIQUE (projection, tag, collection)
  );
  CREATE TABLE IF NOT EXISTS parked (
    projection TEXT NOT NULL, tag TEXT NOT NULL, tenant TEXT NOT NULL, position TEXT NOT NULL,
    event_id TEXT NOT NULL, error TEXT NOT NULL, since TEXT NOT NULL, attempts INTEGER NOT NULL,
    PRIMARY KEY (projection, tag, tenant)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS active_generations (
    projection TEXT PRIMARY KEY, active TEXT, building TEXT
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS leases (
    name TEXT PRIMARY KEY, owner TEXT, fence INTEGER NOT NULL, expires_at REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS subscribers (
    name TEXT PRIMARY KEY, position TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS subscribers_behind (
    name TEXT PRIMARY KEY, tenants TEXT NOT NULL
  ) WITHOUT ROWID;
`;

/** SQLite maps at most 2 GiB less 64 KiB; later parts of a file are read by system calls. */
const MAPPED_BYTES = 0x7fff0000;

export const PRAGMAS: readonly string[] = [
  'journal_mode = WAL',
  // A power cut may lose the last commits, a crash of the process does not: read models can be rebuilt, and a
  // checkpoint is never newer than its documents.
  'synchronous = NORMAL',
  `cache_size = -${MEMORY.readModelPages.maxBytes / 1024}`,
  // Pages outside the cache are read in place, without a call of the system and a copy (decision 75).
  `mmap_size = ${MAPPED_BYTES}`,
  'temp_store = MEMORY',
  'wal_autocheckpoint = 4000',
];
