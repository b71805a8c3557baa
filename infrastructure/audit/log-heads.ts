import { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../application/ports/event-store.ts';
import { formatPosition, offsetOf } from '../event-store/positions.ts';
import { HASH_SQL } from '../event-store/sqlite/event-rows.ts';
import { numberOf, optionalTextOf } from '../sqlite/connection.ts';
import { transaction } from '../sqlite/transaction.ts';

/**
 * Events per transaction, adapted to the transaction's duration. A long transaction writes fewer pages per event, but
 * blocks checkpoints of the log's WAL and other writers of heads.
 */
const STEP = { least: 2000, most: 16_000, shortMs: 20, longMs: 50 };
const BUSY_MS = 5000;

const OF_STEP =
  'FROM log.events e CROSS JOIN log.streams s ON s.id = e.stream_id WHERE e.position BETWEEN ? AND ?';

export type LogHeads = ReturnType<typeof openLogHeads>;

/**
 * Copies the last revision and hash of each stream from the log's file within SQLite, without loading texts of events.
 * @param path database of heads, whose tables exist already
 * @param log file of the embedded event log
 */
export const openLogHeads = (path: string, log: string) => {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  // Rows lost to a power cut are copied again from the log.
  db.exec('PRAGMA synchronous = NORMAL');
  db.prepare('ATTACH ? AS log').run(log);
  const lock = db.prepare('UPDATE main.progress SET one = one');
  const noted = db.prepare('SELECT position FROM progress');
  const end = db.prepare('SELECT ifnull(max(position), 0) AS position FROM log.events');
  // Imported positions have gaps, so the nth position cannot be calculated.
  const nth = db.prepare(
    'SELECT position FROM log.events WHERE position >= ? ORDER BY position LIMIT 1 OFFSET ?',
  );
  const heads = db.prepare(`INSERT INTO heads (stream, revision, hash)
    SELECT s.name, e.revision, ${HASH_SQL} ${OF_STEP} ORDER BY e.position
    ON CONFLICT (stream) DO UPDATE SET revision = excluded.revision, hash = excluded.hash
    WHERE excluded.revision > revision`);
  const owners = db.prepare(`INSERT INTO owners (owner, position)
    SELECT substr(s.name, 1, instr(s.name, '.') - 1) AS owner, printf('%016x', max(e.position)) ${OF_STEP} GROUP BY 1
    ON CONFLICT (owner) DO UPDATE SET position = excluded.position WHERE excluded.position > position`);
  const progress = db.prepare(`UPDATE progress SET position = ?, last = (
    SELECT json_object('stream', s.name, 'revision', e.revision, 'hash', ${HASH_SQL}) ${OF_STEP})`);

  let size = STEP.least;

  const advance = (): { position: Position | undefined; isEnd: boolean; isFull: boolean } => {
    const row = noted.get();
    // The column holds NULL (`reset`) or a position (`merge` and this function).
    const position = row && (optionalTextOf(row, 'position') as Position | undefined);
    const from = position === undefined ? 1 : offsetOf(position) + 1;
    const last = numberOf(end.get() ?? {}, 'position');
    if (last < from) return { position, isEnd: true, isFull: false };
    const cut = nth.get(from, size - 1);
    const to = cut === undefined ? last : numberOf(cut, 'position');
    heads.run(from, to);
    owners.run(from, to);
    const reached = formatPosition(to);
    progress.run(reached, to, to);
    return { position: reached, isEnd: to === last, isFull: cut !== undefined };
  };

  return {
    /** Copies last revisions of the next events. @returns the position reached, and whether it is the log's end */
    step() {
      let began = 0;
      const copy = () => {
        lock.run();
        began = performance.now();
        return advance();
      };
      // `BEGIN IMMEDIATE` would also lock the log; this transaction only writes heads.
      const { position, isEnd, isFull } = transaction(db, copy, 'BEGIN');
      const ms = performance.now() - began;
      if (ms > STEP.longMs) size = Math.max(STEP.least, size / 2);
      else if (isFull && ms < STEP.shortMs) size = Math.min(STEP.most, size * 2);
      return { position, isEnd };
    },
    close: (): void => db.close(),
  };
};
