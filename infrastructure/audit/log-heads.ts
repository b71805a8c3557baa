import { DatabaseSync } from 'node:sqlite';
import type { Position } from '../../application/ports/event-store.ts';
import { formatPosition, offsetOf } from '../event-store/positions.ts';
import { numberOf, optionalTextOf } from '../sqlite/connection.ts';

/**
 * Events of one transaction: as many as take some 20 to 50 ms, for which the log's write-ahead log cannot be begun anew and
 * other writers of the heads wait. The more there are, the more of them share a page, which is written once.
 */
const STEP = { least: 2000, most: 16_000, shortMs: 20, longMs: 50 };
const BUSY_MS = 5000;

/** `"hash":"` and what follows it, as the head keeper finds it. */
const HASH = `substr(e.metadata, instr(e.metadata, '"hash":"') + 8, 64)`;
const OF_STEP =
  'FROM log.events e CROSS JOIN log.streams s ON s.id = e.stream_id WHERE e.position BETWEEN ? AND ?';

/** Takes heads over from the log's file in the database alone: no text of an event becomes one of this program. */
export interface LogHeads {
  /** Goes on by some events. @returns how far the heads go, and whether that is the end of the log */
  step(): { readonly position: Position | undefined; readonly isEnd: boolean };
  close(): void;
}

/** @param path of the heads, whose tables are there @param log of the embedded event log */
export const openLogHeads = (path: string, log: string): LogHeads => {
  const db = new DatabaseSync(path, { timeout: BUSY_MS });
  // What a power cut takes away is made again from the log.
  db.exec('PRAGMA synchronous = NORMAL');
  db.prepare('ATTACH ? AS log').run(log);
  const lock = db.prepare('UPDATE main.progress SET one = one');
  const noted = db.prepare('SELECT position FROM progress');
  const end = db.prepare('SELECT ifnull(max(position), 0) AS position FROM log.events');
  const heads = db.prepare(`INSERT INTO heads (stream, revision, hash)
    SELECT s.name, e.revision, ${HASH} ${OF_STEP} ORDER BY e.position
    ON CONFLICT (stream) DO UPDATE SET revision = excluded.revision, hash = excluded.hash
    WHERE excluded.revision > revision`);
  const owners = db.prepare(`INSERT INTO owners (owner, position)
    SELECT substr(s.name, 1, instr(s.name, '.') - 1) AS owner, printf('%016x', max(e.position)) ${OF_STEP} GROUP BY 1
    ON CONFLICT (owner) DO UPDATE SET position = excluded.position WHERE excluded.position > position`);
  const progress = db.prepare(`UPDATE progress SET position = ?, last = (
    SELECT json_object('stream', s.name, 'revision', e.revision, 'hash', ${HASH}) ${OF_STEP})`);

  let size = STEP.least;

  const advance = (): { position: Position | undefined; isEnd: boolean; isFull: boolean } => {
    const row = noted.get();
    // Written from positions alone, here and by `merge`.
    const position = row && (optionalTextOf(row, 'position') as Position | undefined);
    const from = position === undefined ? 1 : offsetOf(position) + 1;
    const last = numberOf(end.get() ?? {}, 'position');
    if (last < from) return { position, isEnd: true, isFull: false };
    const to = Math.min(last, from + size - 1);
    heads.run(from, to);
    owners.run(from, to);
    const reached = formatPosition(to);
    progress.run(reached, to, to);
    return { position: reached, isEnd: to === last, isFull: to - from + 1 === size };
  };

  return {
    step() {
      // An immediate transaction would take the lock of the log's writer, too: only that of the heads is wanted.
      db.exec('BEGIN');
      try {
        lock.run();
        const began = performance.now();
        const { position, isEnd, isFull } = advance();
        db.exec('COMMIT');
        const ms = performance.now() - began;
        if (ms > STEP.longMs) size = Math.max(STEP.least, size / 2);
        else if (isFull && ms < STEP.shortMs) size = Math.min(STEP.most, size * 2);
        return { position, isEnd };
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => db.close(),
  };
};
