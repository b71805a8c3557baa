import { DatabaseSync } from 'node:sqlite';
import { numberOf, textOf } from '../../sqlite/connection.ts';

/** The imported part of an embedded log. It has the positions of the original store. */
interface ImportedPart {
  readonly id: string;
  readonly events: number;
  /** Position of its last event, 0 when empty. Later positions follow without a gap. */
  readonly last: number;
  readonly isComplete: boolean;
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS imported (
  one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, events INTEGER NOT NULL, last INTEGER NOT NULL,
  complete INTEGER NOT NULL
)`;

/** Undefined for a log without an import. */
export const importedPart = (db: DatabaseSync): ImportedPart | undefined => {
  if (db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'imported'`).get() === undefined) return undefined;
  const row = db.prepare('SELECT * FROM imported').get();
  if (row === undefined) return undefined;
  return {
    id: textOf(row, 'id'),
    events: numberOf(row, 'events'),
    last: numberOf(row, 'last'),
    isComplete: numberOf(row, 'complete') === 1,
  };
};

export const noteImport = (db: DatabaseSync, { id, events, last, isComplete }: ImportedPart): void => {
  db.exec(SCHEMA);
  db.prepare('INSERT OR REPLACE INTO imported (one, id, events, last, complete) VALUES (1, ?, ?, ?, ?)').run(
    id,
    events,
    last,
    isComplete ? 1 : 0,
  );
};

/** The imported part of a log, and how many of its events are stored. Undefined for a log without an import. */
export const importedIn = (path: string): (ImportedPart & { readonly found: number }) | undefined => {
  using db = new DatabaseSync(path, { readOnly: true });
  const part = importedPart(db);
  if (part === undefined) return undefined;
  const row = db.prepare('SELECT count(*) AS found FROM events WHERE position <= ?').get(part.last);
  return { ...part, found: numberOf(row, 'found') };
};
