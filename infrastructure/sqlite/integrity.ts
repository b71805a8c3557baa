import { DatabaseSync } from 'node:sqlite';
import { BLOCK } from '../event-store/sqlite/blocks.ts';

const MOST = 20;

/** Returns the faults that `look` finds in a database, or the reason why it cannot be read. */
const inspected = (path: string, look: (db: DatabaseSync) => string[]): string[] => {
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

/** Missing blocks of the log's coarse index, whose events filtered reads would skip, and streams without a row. */
const MISSING_BLOCKS = `
  SELECT 'type ' || name AS what FROM types WHERE id IN (
    SELECT type_id FROM (
      SELECT DISTINCT type_id, position / ${BLOCK} AS block FROM events EXCEPT SELECT type_id, block FROM type_blocks))
  UNION ALL
  SELECT 'owner ' || owner FROM (
    SELECT DISTINCT substr(name, 1, instr(name, '.') - 1) AS owner, position / ${BLOCK} AS block
    FROM events JOIN streams ON streams.id = stream_id WHERE instr(name, '.') > 0
    EXCEPT SELECT owner, block FROM owner_blocks)
  UNION ALL
  SELECT 'stream ' || stream_id FROM events WHERE stream_id NOT IN (SELECT id FROM streams)
  LIMIT ${MOST}`;

/** Like {@link integrityFaults}, for the log's indexes. */
export const logIndexFaults = (path: string): string[] =>
  inspected(path, (db) =>
    db
      .prepare(MISSING_BLOCKS)
      .all()
      .map((row) => `the index of the log lacks ${String(row.what)}`),
  );
