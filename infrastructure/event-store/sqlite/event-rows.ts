import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { NewEvent } from '../../../application/ports/event-store.ts';
import { type EventTexts, Packing } from './packing/packing.ts';

/** Events with fewer UTF-16 units are not packed. The product's events have more, by their metadata alone. */
const LEAST_UNITS = 350;
/** Value of the text columns of an event that is packed in `data`. */
const NONE = '';

/**
 * The `hash` of an event's metadata in SQL, for a row `e`: from the packed bytes, or the 64 characters after
 * `"hash":"` in the text. The metadata must have a hash.
 */
export const HASH_SQL = `iif(typeof(e.data) = 'blob', lower(hex(substr(e.data, 18, 32))),
  substr(e.metadata, instr(e.metadata, '"hash":"') + 8, 64))`;

/** Columns of an event's texts, in the order in which {@link EventRows.texts} takes them. */
export const TEXT_COLUMNS = 'e.id, e.data, e.metadata';

/**
 * Rows of `events`: `id`, `data` and `metadata` as texts, or all three packed in `data` (decision 72). A log may hold
 * both kinds of rows.
 */
export class EventRows {
  readonly #packing: Packing;
  readonly #db: DatabaseSync;
  #insert: StatementSync | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#packing = new Packing(db);
  }

  /** @param place of the event: its position, the number of its stream, its revision and the number of its type */
  insert(
    place: readonly [position: number, streamId: number, revision: number, typeId: number],
    stream: string,
    event: NewEvent,
    isPacked: boolean,
  ): void {
    const isLong = event.data.length + event.metadata.length >= LEAST_UNITS;
    const packed = isPacked && isLong ? this.#packing.pack(stream, event, place[3]) : undefined;
    this.#insert ??= this.#db.prepare(
      'INSERT INTO events (position, stream_id, revision, type_id, id, data, metadata) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    if (packed === undefined) this.#insert.run(...place, event.id, event.data, event.metadata);
    else this.#insert.run(...place, NONE, packed, NONE);
  }

  /**
   * Reads an event's texts. A damaged packed event gets empty texts, which cannot be parsed, so that only its own
   * stream fails.
   */
  texts(
    stream: string,
    id: SQLOutputValue | undefined,
    data: SQLOutputValue | undefined,
    metadata: SQLOutputValue | undefined,
  ): EventTexts {
    if (data instanceof Uint8Array) {
      try {
        return this.#packing.unpack(stream, data);
      } catch {
        return { id: NONE, data: NONE, metadata: NONE };
      }
    }
    if (typeof id !== 'string' || typeof data !== 'string' || typeof metadata !== 'string') {
      throw new TypeError(`an event of ${stream} is stored in an unknown form`);
    }
    return { id, data, metadata };
  }

  /** Clears caches after a rollback. */
  forget(): void {
    this.#packing.shapes.clear();
  }
}
