import { inspected, MOST } from '../../sqlite/integrity.ts';
import { BLOCK } from './blocks.ts';

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

/** Faults of the log's own indexes, which SQLite's integrity check does not know. */
export const logIndexFaults = (path: string): string[] =>
  inspected(path, (db) =>
    db
      .prepare(MISSING_BLOCKS)
      .all()
      .map((row) => `the index of the log lacks ${String(row.what)}`),
  );
