import { DatabaseSync } from 'node:sqlite';
import { EventRows, TEXT_COLUMNS } from '../../infrastructure/event-store/sqlite/event-rows.ts';

export interface EventRow {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly id: string;
  readonly data: string;
  readonly metadata: string;
}

/** Events of an embedded log that is open, in order. */
export const eventsIn = (db: DatabaseSync): EventRow[] => {
  const rows = new EventRows(db);
  return db
    .prepare(
      `SELECT e.position, s.name AS stream, e.revision, t.name AS type, ${TEXT_COLUMNS} FROM events e
       JOIN streams s ON s.id = e.stream_id JOIN types t ON t.id = e.type_id ORDER BY e.position`,
    )
    .all()
    .map((row) => {
      const { position, stream, revision, type } = row;
      const texts = rows.texts(String(stream), row.id, row.data, row.metadata);
      return {
        position: Number(position),
        stream: String(stream),
        revision: Number(revision),
        type: String(type),
        ...texts,
      };
    });
};

/** Events of the log's file, which a server may have open. */
export const storedEvents = (path: string): EventRow[] => {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return eventsIn(db);
  } finally {
    db.close();
  }
};

/** Writes packed events as texts, which SQL can change: a log may hold both. */
export const writeAsTexts = (db: DatabaseSync): void => {
  const put = db.prepare('UPDATE events SET id = ?, data = ?, metadata = ? WHERE position = ?');
  db.exec('BEGIN');
  for (const { id, data, metadata, position } of eventsIn(db)) put.run(id, data, metadata, position);
  db.exec('COMMIT');
};
