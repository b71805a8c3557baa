import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Selection } from '../../../application/ports/event-filter.ts';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { type Cells, inCells, iterateCells, numberAt, textAt } from '../../sqlite/cells.ts';
import { LIMIT_CLAUSE } from '../../sqlite/connection.ts';
import { formatPosition } from '../positions.ts';
import { TEXT_COLUMNS } from './event-rows.ts';
import type { LogState } from './log-state.ts';

/** Maximum of events (and characters) per step, so that a step does not block the event loop. */
const PAGE_EVENTS = 1000;
const PAGE_UNITS = 2 * 1024 * 1024;

/** Columns of an event apart from the name of its stream, in the order in which {@link Reader} reads cells. */
const COLUMNS = `e.position, e.revision, e.type_id, ${TEXT_COLUMNS}`;

/** Matches in a range of the log, and the last scanned position. */
export interface Step {
  readonly events: readonly StoredEvent[];
  /** Last scanned position, inclusive. */
  readonly scanned: number;
  /** Whether the step reached the end of the log, or its beginning when reading backward. */
  readonly atEnd: boolean;
}

/** Reads the log in short synchronous steps. */
export class Reader {
  readonly #db: DatabaseSync;
  readonly #state: LogState;
  readonly #scans = new Map<string, StatementSync>();
  readonly #streamForward: StatementSync;
  readonly #streamBackward: StatementSync;
  readonly #streams: StatementSync;

  constructor(db: DatabaseSync, state: LogState) {
    this.#db = db;
    this.#state = state;
    const stream = (bound: string, order: string) =>
      inCells(
        db.prepare(
          `SELECT s.name, ${COLUMNS} FROM streams s JOIN events e ON e.stream_id = s.id
           WHERE s.name = ? AND e.revision ${bound} ? ORDER BY e.revision ${order} ${LIMIT_CLAUSE}`,
        ),
      );
    this.#streamForward = stream('>=', 'ASC');
    this.#streamBackward = stream('<=', 'DESC');
    // Reads streams in the order of the argument without sorting; events of each stream come from the index.
    this.#streams = inCells(
      db.prepare(
        `SELECT j.key, e.stream_id, ${COLUMNS} FROM json_each(?) j
         CROSS JOIN streams s ON s.name = j.value
         CROSS JOIN events e ON e.stream_id = s.id AND e.revision < ?`,
      ),
    );
  }

  /** Events of a stream from a revision on, in either direction; `atEnd` is false when there may be more. */
  streamPage(
    stream: string,
    from: number,
    forward: boolean,
    limit: number,
  ): { readonly events: StoredEvent[]; readonly atEnd: boolean } {
    const statement = forward ? this.#streamForward : this.#streamBackward;
    const most = Math.min(limit, PAGE_EVENTS);
    const { events, stopped } = this.#collect(iterateCells(statement, [stream, from, most]));
    return { events, atEnd: !stopped && events.length < most };
  }

  /**
   * The first events of streams, at most `limit` of each, in order. Stops after `enough` characters or
   * the maximum of a step, but reads at least one stream.
   */
  streamsPage(
    streams: readonly string[],
    limit: number,
    enough: number,
  ): { readonly found: StoredEvent[][]; readonly units: number } {
    const most = Math.min(enough, PAGE_UNITS);
    const found: StoredEvent[][] = streams.map(() => []);
    let units = 0;
    let before = -1;
    let streamId = 0;
    // Caches the last revision for a write that follows the read.
    const noteEnd = (): void => {
      const revision = found[before]?.at(-1)?.revision;
      const stream = streams[before];
      if (stream === undefined || revision === undefined || revision + 1 >= limit) return;
      this.#state.lastRevisions.note(stream, streamId, revision);
    };
    for (const cells of iterateCells(this.#streams, [JSON.stringify(streams), limit])) {
      const nth = numberAt(cells, 0);
      if (nth !== before) {
        noteEnd();
        if (before >= 0 && units >= most) return { found: found.slice(0, nth), units };
        before = nth;
        streamId = numberAt(cells, 1);
      }
      const event = this.#decode(streams[nth] ?? '', cells, 2);
      found[nth]?.push(event);
      units += event.data.length + event.metadata.length;
    }
    noteEnd();
    return { found, units };
  }

  /** Matches after `after`, up to the cached end of the log. */
  forward(after: number, selection: Selection | undefined, limit: number): Step {
    const { end, blocks } = this.#state;
    if (after >= end) return { events: [], scanned: after, atEnd: true };
    const start = selection ? blocks.skip(after + 1, selection, true) : after + 1;
    if (start === undefined || start > end) return { events: [], scanned: end, atEnd: true };
    const last = selection ? Math.min(end, start + this.#state.windowAt(start) - 1) : end;
    const { events, reached } = this.#scan(start, last, true, selection, limit);
    const scanned = reached ?? last;
    return { events, scanned, atEnd: scanned >= end };
  }

  /** Matches before `before`, latest first; `scanned` is the earliest scanned position. */
  backward(before: number, selection: Selection | undefined, limit: number): Step {
    const latest = Math.min(before - 1, this.#state.end);
    const start = selection && latest > 0 ? this.#state.blocks.skip(latest, selection, false) : latest;
    if (start === undefined || start < 1) return { events: [], scanned: 1, atEnd: true };
    const first = selection ? Math.max(1, start - this.#state.windowAt(start) + 1) : 1;
    const { events, reached } = this.#scan(first, start, false, selection, limit);
    const scanned = reached ?? first;
    return { events, scanned, atEnd: scanned <= 1 };
  }

  #scan(first: number, last: number, forward: boolean, selection: Selection | undefined, limit: number) {
    const statement = this.#statement(forward, selection);
    const capped = Math.min(limit, PAGE_EVENTS);
    const values: (number | string)[] = [first, last];
    if (selection?.types) values.push(this.#typeIds(selection.types));
    if (selection?.prefix) values.push(selection.prefix, `${selection.prefix}\u{10ffff}`);
    const { events, lastOffset, stopped } = this.#collect(iterateCells(statement, [...values, capped]));
    // Only a truncated page has more matches after its last event.
    return { events, reached: stopped || events.length >= capped ? lastOffset : undefined };
  }

  #statement(forward: boolean, selection: Selection | undefined): StatementSync {
    const key = `${forward} ${Boolean(selection?.types)} ${Boolean(selection?.prefix)}`;
    let statement = this.#scans.get(key);
    if (!statement) {
      statement = inCells(
        this.#db.prepare(
          `SELECT s.name, ${COLUMNS} FROM events e CROSS JOIN streams s ON s.id = e.stream_id
           WHERE e.position BETWEEN ? AND ?
           ${selection?.types ? 'AND e.type_id IN (SELECT value FROM json_each(?))' : ''}
           ${selection?.prefix ? 'AND s.name >= ? AND s.name < ?' : ''}
           ORDER BY e.position ${forward ? 'ASC' : 'DESC'} ${LIMIT_CLAUSE}`,
        ),
      );
      this.#scans.set(key, statement);
    }
    return statement;
  }

  #typeIds(types: ReadonlySet<string>): string {
    const ids: number[] = [];
    for (const name of types) {
      const id = this.#state.types.find(name);
      if (id !== undefined) ids.push(id);
    }
    return JSON.stringify(ids);
  }

  #collect(rows: Iterable<Cells>): { events: StoredEvent[]; lastOffset: number; stopped: boolean } {
    const events: StoredEvent[] = [];
    let lastOffset = 0;
    let units = 0;
    for (const row of rows) {
      lastOffset = numberAt(row, 1);
      const event = this.#decode(textAt(row, 0), row, 1);
      events.push(event);
      units += event.data.length + event.metadata.length;
      if (units >= PAGE_UNITS) return { events, lastOffset, stopped: true };
    }
    return { events, lastOffset, stopped: false };
  }

  /** @param at index of the first of {@link COLUMNS} in the row */
  #decode(stream: string, row: Cells, at: number): StoredEvent {
    const { id, data, metadata } = this.#state.rows.texts(stream, row[at + 3], row[at + 4], row[at + 5]);
    return {
      id,
      type: this.#state.types.nameOf(numberAt(row, at + 2)),
      data,
      metadata,
      stream,
      revision: numberAt(row, at + 1),
      position: formatPosition(numberAt(row, at)),
    };
  }
}
