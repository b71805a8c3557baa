import { DatabaseSync } from 'node:sqlite';

/** Most faults that are listed. */
export const MOST = 20;

/** Returns the faults that `look` finds in a database, or the reason why it cannot be read. */
export const inspected = (path: string, look: (db: DatabaseSync) => string[]): string[] => {
  try {
    using db = new DatabaseSync(path, { timeout: 5000 });
    return look(db);
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
};

/**
 * Faults that SQLite's integrity check reports: pages, indexes, constraints. Other processes may write meanwhile.
 * @param quick skips the comparison of indexes with their tables
 */
export const integrityFaults = (path: string, quick: boolean): string[] =>
  inspected(path, (db) => {
    const rows = db.prepare(`PRAGMA ${quick ? 'quick_check' : 'integrity_check'}(${MOST})`).all();
    return rows.flatMap((row) => Object.values(row).map(String)).filter((text) => text !== 'ok');
  });
