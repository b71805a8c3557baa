import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type AppendResult,
  type Position,
  type StoredEvent,
  type StreamAppend,
  WrongExpectedRevision,
} from '../../../application/ports/event-store.ts';
import { numberOf, type Row } from '../../sqlite/connection.ts';
import { formatPosition } from '../positions.ts';
import type { LogState } from './log-state.ts';

type Outcome = AppendResult | WrongExpectedRevision;

export interface Written {
  /** One per append, in order. */
  readonly outcomes: readonly Outcome[];
  /** Position of the first of `events`. */
  readonly first: number;
  readonly events: readonly StoredEvent[];
}

/** Writes several appends in one transaction, so that they share one fsync. */
export class Writer {
  readonly #db: DatabaseSync;
  readonly #state: LogState;
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #stored: StatementSync;

  constructor(db: DatabaseSync, state: LogState) {
    this.#db = db;
    this.#state = state;
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#commit = db.prepare('COMMIT');
    this.#stored = db.prepare(`
      SELECT id, data, metadata, position FROM events
      WHERE stream_id = ? AND revision BETWEEN ? AND ? ORDER BY revision`);
  }

  /**
   * Checks each append on its own: one with a wrong expected revision writes nothing and does not affect the others.
   * @throws the database's error when the whole transaction failed; nothing is written then
   */
  write(appends: readonly StreamAppend[]): Written {
    const state = this.#state;
    this.#begin.run();
    try {
      state.sync();
      const first = state.end + 1;
      const events: StoredEvent[] = [];
      const outcomes = appends.map((append) => this.#one(append, events));
      this.#commit.run();
      return { outcomes, first, events };
    } catch (error) {
      state.forget();
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  #one(append: StreamAppend, stored: StoredEvent[]): Outcome {
    const { stream, expected, events } = append;
    const { lastRevisions, types, blocks, rows, isPacked } = this.#state;
    let known = lastRevisions.find(stream);
    const last = known?.revision ?? -1;
    if (expected !== 'any' && last !== (expected === 'no_stream' ? -1 : expected)) {
      return (known && this.#repeated(known.streamId, append)) ?? wrong(append, last);
    }
    known ??= lastRevisions.create(stream);
    let position: Position | undefined;
    for (const event of events) {
      const { id, type, data, metadata } = event;
      const offset = ++this.#state.end;
      const revision = ++known.revision;
      const typeId = types.idFor(type);
      rows.insert([offset, known.streamId, revision, typeId], stream, event, isPacked);
      blocks.note(offset, typeId, stream);
      position = formatPosition(offset);
      stored.push({ id, type, data, metadata, stream, revision, position });
    }
    if (position === undefined) throw new TypeError('an append without events');
    return { revision: known.revision, position };
  }

  /** Detects a retry of a written append: the events after its expected revision have the ids of its own events. */
  #repeated(streamId: number, { stream, expected, events }: StreamAppend): AppendResult | undefined {
    const first = typeof expected === 'number' ? expected + 1 : 0;
    const last = first + events.length - 1;
    const rows = this.#stored.all(streamId, first, last);
    if (rows.length !== events.length) return undefined;
    const idOf = (row: Row): string => this.#state.rows.texts(stream, row.id, row.data, row.metadata).id;
    if (!rows.every((row, i) => idOf(row) === events[i]?.id)) return undefined;
    return { revision: last, position: formatPosition(numberOf(rows.at(-1), 'position')) };
  }
}

function wrong({ stream, expected }: StreamAppend, last: number): WrongExpectedRevision {
  return new WrongExpectedRevision(stream, expected, last < 0 ? undefined : last);
}
