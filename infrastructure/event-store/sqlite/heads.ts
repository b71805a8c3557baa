import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { MEMORY } from '../../../application/ports/memory.ts';
import { integer } from './columns.ts';

/** Where a stream stands. `revision` is -1 for a stream without events. */
export interface Head {
  readonly streamId: number;
  revision: number;
}

/** Heads are kept in two generations of this size: the older is dropped when the younger is full. */
const GENERATION = MEMORY.heads.maxCount;
/** Of streams that were only read so far. */
const NOTED = MEMORY.heads.maxNoted;

/**
 * Last revisions of recently written streams, so that an append need not ask the database where its stream
 * stands. Valid only as long as no other connection has written: the owner clears it then, and after a rollback.
 */
export class Heads {
  #young = new Map<string, Head>();
  #old = new Map<string, Head>();
  /**
   * Of streams that were read to their end a moment ago, in two generations of their own, and in none of the others: rows of
   * a large edit and deliveries are written to once, soon, and not again. With the others they grew old for the collector.
   */
  #noted = new Map<string, Head>();
  #notedBefore = new Map<string, Head>();
  readonly #select: StatementSync;
  readonly #insert: StatementSync;

  constructor(db: DatabaseSync) {
    this.#select = db.prepare(`
      SELECT id, ifnull((SELECT max(revision) FROM events WHERE stream_id = streams.id), -1) AS revision
      FROM streams WHERE name = ?`);
    this.#insert = db.prepare('INSERT INTO streams (name) VALUES (?)');
  }

  /** The head of a stream; undefined when the stream is unknown. */
  find(stream: string): Head | undefined {
    const young = this.#young.get(stream);
    if (young) return young;
    const old = this.#old.get(stream);
    if (old) return this.#keep(stream, old);
    const noted = this.#noted.get(stream) ?? this.#notedBefore.get(stream);
    if (noted) return noted;
    const row = this.#select.get(stream);
    return row && this.#keep(stream, { streamId: integer(row, 'id'), revision: integer(row, 'revision') });
  }

  /** Registers a new stream, inside a write transaction. */
  create(stream: string): Head {
    const streamId = Number(this.#insert.run(stream).lastInsertRowid);
    return this.#keep(stream, { streamId, revision: -1 });
  }

  /** Takes note of where a stream stands, as a read outside a transaction has just found it. */
  note(stream: string, streamId: number, revision: number): void {
    if (this.#young.has(stream) || this.#old.has(stream)) return;
    const known = this.#noted.get(stream) ?? this.#notedBefore.get(stream);
    if (this.#noted.size >= NOTED) {
      this.#notedBefore = this.#noted;
      this.#noted = new Map();
    }
    // What is known has heard of what was written since.
    this.#noted.set(stream, known ?? { streamId, revision });
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#noted = new Map();
    this.#notedBefore = new Map();
  }

  #keep(stream: string, head: Head): Head {
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, head);
    return head;
  }
}
