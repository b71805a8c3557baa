import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { numberOf } from '../../sqlite/connection.ts';
import { Blocks, WINDOW } from './blocks.ts';
import { EventRows } from './event-rows.ts';
import { importedPart } from './imported.ts';
import { LastRevisions } from './last-revisions.ts';
import { TypeNames } from './names.ts';
import { isPacked } from './schema.ts';

/**
 * Caches a connection's view of the log between transactions. `PRAGMA data_version` changes when another connection
 * has committed; until then the cache is valid.
 */
export class LogState {
  readonly types: TypeNames;
  readonly lastRevisions: LastRevisions;
  readonly blocks: Blocks;
  readonly rows: EventRows;
  /** Whether new events are packed. */
  isPacked = false;
  /** Position of the last event, 0 for an empty log. */
  end = 0;
  #version = -1;
  /**
   * Imported positions have gaps. `last` is the last of them, `window` the number of positions with about {@link
   * WINDOW} events.
   */
  readonly #imported: { readonly last: number; readonly window: number };
  readonly #db: DatabaseSync;
  readonly #dataVersion: StatementSync;
  readonly #lastPosition: StatementSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
    this.types = new TypeNames(db);
    this.lastRevisions = new LastRevisions(db);
    this.blocks = new Blocks(db, this.types);
    this.rows = new EventRows(db);
    this.#dataVersion = db.prepare('PRAGMA data_version');
    this.#lastPosition = db.prepare('SELECT ifnull(max(position), 0) AS position FROM events');
    const { events = 0, last = 0 } = importedPart(db) ?? {};
    this.#imported = { last, window: events === 0 ? WINDOW : WINDOW * Math.ceil(last / events) };
    this.sync();
  }

  /** Positions that one filtered step scans. */
  windowAt(position: number): number {
    return position > this.#imported.last ? WINDOW : this.#imported.window;
  }

  /**
   * Reads what other connections wrote. The state stays valid to the end of a write transaction, but outside of a
   * transaction only until the next tick.
   */
  sync(): void {
    const version = numberOf(this.#dataVersion.get(), 'data_version');
    if (version === this.#version) return;
    this.lastRevisions.clear();
    this.isPacked = isPacked(this.#db);
    this.end = numberOf(this.#lastPosition.get(), 'position');
    this.#version = version;
  }

  /** Clears the cache after a rollback. */
  forget(): void {
    this.lastRevisions.clear();
    this.types.clear();
    this.blocks.forget();
    this.rows.forget();
    this.#version = -1;
  }
}
