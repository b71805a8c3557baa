import type { DatabaseSync } from 'node:sqlite';
import { chainHash } from '../../../../application/core/events/hash-chain.ts';

/** Reads and writes events in a log’s file. */

/** `prev_hash` of the first event of a stream. */
export const START = '0'.repeat(64);

export interface Row {
  readonly position: number;
  readonly stream: string;
  readonly stream_id: number;
  readonly revision: number;
  readonly type: string;
  readonly id: string;
  readonly data: string;
  readonly metadata: string;
}

export const row = (db: DatabaseSync, stream: string, revision: number): Row => {
  const found = db
    .prepare(`SELECT e.*, s.name AS stream, t.name AS type FROM events e JOIN streams s ON s.id = e.stream_id
    JOIN types t ON t.id = e.type_id WHERE s.name = ? AND e.revision = ?`)
    .get(stream, revision);
  if (found === undefined) throw new Error(`${stream}@${revision} is not there`);
  // The columns are those of the log’s schema.
  return found as unknown as Row;
};

/** The metadata with the correct hash of the event. */
export const repaired = (event: Omit<Row, 'position' | 'stream_id'>): string => {
  const without = event.metadata.replace(/"hash":"[0-9a-f]{64}",/, '');
  const previous = /"prev_hash":"([0-9a-f]{64})"/.exec(event.metadata)?.[1] ?? '';
  const { stream, revision, id, type, data } = event;
  const digest = chainHash(previous, stream, revision, id, type, data, without);
  return event.metadata.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${digest}"`);
};

export const withPrevious = (metadata: string, hash: string): string =>
  metadata.replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${hash}"`);

export const hashIn = (metadata: string): string => /"hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';

export const lastOf = (db: DatabaseSync, stream: string): number =>
  Number(
    db
      .prepare('SELECT max(revision) AS last FROM events JOIN streams s ON s.id = stream_id WHERE s.name = ?')
      .get(stream)?.last,
  );

export const insert = (db: DatabaseSync, event: Row, position: number): void => {
  db.prepare(`INSERT INTO events (position, stream_id, revision, type_id, id, data, metadata)
  VALUES (?, ?, ?, (SELECT id FROM types WHERE name = ?), ?, ?, ?)`).run(
    position,
    event.stream_id,
    event.revision,
    event.type,
    event.id,
    event.data,
    event.metadata,
  );
  db.prepare('INSERT OR IGNORE INTO owner_blocks (owner, block) VALUES (?, ?)').run(
    event.stream.slice(0, event.stream.indexOf('.')),
    Math.floor(position / 1024),
  );
};

/** An event that continues the stream’s chain. */
export const following = (db: DatabaseSync, stream: string): Row => {
  const before = row(db, stream, lastOf(db, stream));
  const next = {
    ...before,
    revision: before.revision + 1,
    metadata: withPrevious(before.metadata, hashIn(before.metadata)),
  };
  return { ...next, metadata: repaired(next) };
};

/** Deletes the last event of another tenant, to free its position. */
export const freedPlace = (db: DatabaseSync): number => {
  const found = db
    .prepare(
      "SELECT max(e.position) AS at FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.name LIKE 'other.%'",
    )
    .get();
  const place = Number(found?.at);
  db.prepare('DELETE FROM events WHERE position = ?').run(place);
  return place;
};
