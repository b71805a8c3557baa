import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { MEMORY } from '../../../application/ports/memory.ts';
import { numberOf } from '../../sqlite/connection.ts';

/** The last revision of a stream; -1 for a stream without events. */
interface LastRevision {
  readonly streamId: number;
  revision: number;
}

/** Entries of a half of the cache: when the younger half is full, the older one is dropped. */
const HALF = MEMORY.lastRevisions.maxPerHalf;
/** Entries of a half of the cache of streams that were only read. */
const NOTED_HALF = MEMORY.lastRevisions.maxNotedPerHalf;

/**
 * Caches last revisions of recently written streams, so that an append needs no query. The cache is valid until
 * another connection writes; `LogState` clears it then, and after a rollback.
 */
export class LastRevisions {
  #young = new Map<string, LastRevision>();
  #old = new Map<string, LastRevision>();
  /**
   * Streams that were only read, in two halves of their own. Otherwise a large edit, which reads many streams, would
   * evict the recently written ones.
   */
  #noted = new Map<string, LastRevision>();
  #notedBefore = new Map<string, LastRevision>();
  readonly #select: StatementSync;
  readonly #insert: StatementSync;

  constructor(db: DatabaseSync) {
    this.#select = db.prepare(`
      SELECT id, ifnull((SELECT max(revision) FROM events WHERE stream_id = streams.id), -1) AS revision
      FROM streams WHERE name = ?`);
    this.#insert = db.prepare('INSERT INTO streams (name) VALUES (?)');
  }

  /** The last revision, from the cache or the database; undefined for a stream that does not exist. */
  find(stream: string): LastRevision | undefined {
    const young = this.#young.get(stream);
    if (young) return young;
    const old = this.#old.get(stream);
    if (old) return this.#keep(stream, old);
    const noted = this.#noted.get(stream) ?? this.#notedBefore.get(stream);
    if (noted) return noted;
    const row = this.#select.get(stream);
    return row && this.#keep(stream, { streamId: numberOf(row, 'id'), revision: numberOf(row, 'revision') });
  }

  /** Creates a stream, inside a write transaction. */
  create(stream: string): LastRevision {
    const streamId = Number(this.#insert.run(stream).lastInsertRowid);
    return this.#keep(stream, { streamId, revision: -1 });
  }

  /** Caches the last revision that a read outside a transaction has found. */
  note(stream: string, streamId: number, revision: number): void {
    if (this.#young.has(stream) || this.#old.has(stream)) return;
    const known = this.#noted.get(stream) ?? this.#notedBefore.get(stream);
    if (this.#noted.size >= NOTED_HALF) {
      this.#notedBefore = this.#noted;
      this.#noted = new Map();
    }
    // A cached entry includes later writes, so it takes precedence.
    this.#noted.set(stream, known ?? { streamId, revision });
  }

  clear(): void {
    this.#young = new Map();
    this.#old = new Map();
    this.#noted = new Map();
    this.#notedBefore = new Map();
  }

  #keep(stream: string, last: LastRevision): LastRevision {
    if (this.#young.size >= HALF) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(stream, last);
    return last;
  }
}
