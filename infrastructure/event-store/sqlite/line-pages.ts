import { isUtf8 } from 'node:buffer';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TypeMember } from '../../../application/ports/event-store.ts';
import { type MadeLines, StoredLines } from '../../../application/ports/lines/stored-lines.ts';
import type { Selection } from '../filters.ts';
import { Blocks, WINDOW } from './blocks.ts';
import { integer, type Row, text } from './columns.ts';
import { TypeNames } from './names.ts';

export const PAGE_EVENTS = 512;
/** Bytes of data and metadata: longer events are read one by one, so that a page stays small. */
const LONGEST = 4096;
const LINE_FEED = 0x0a;

/** A `LinePage` in offsets of the log. */
export interface OffsetPage {
  readonly lines: Uint8Array<ArrayBuffer> | undefined;
  readonly texts: Uint32Array<ArrayBuffer>;
  readonly keyPages: readonly string[];
  readonly events: number;
  readonly scanned: number;
}

/**
 * What a line begins with. The stored texts are taken as they are: who makes lines of them looks at each byte. The short
 * ones are escaped here as JSON.stringify does it. One value holds all of a page: a value for each event takes more
 * than twice as long to read.
 */
const VIEWS = `
  CASE WHEN octet_length(e.data) + octet_length(e.metadata) <= ${LONGEST}
    AND typeof(e.data) = 'text' AND typeof(e.metadata) = 'text'
    AND typeof(e.id) = 'text' AND typeof(e.revision) = 'integer'
  THEN concat(
    '{"position":"', format('%016x', e.position), '","stream":', json_quote(s.name), ',"revision":', e.revision,
    ',"id":', json_quote(e.id), ',"type":', json_quote(t.name), ',"data":', e.data, ',"metadata":', e.metadata, char(10))
  END`;

/** Reads the log as pages of lines, over any connection to it. */
export class LinePages {
  readonly #db: DatabaseSync;
  readonly #types: TypeNames;
  readonly #blocks: Blocks;
  readonly #statements = new Map<string, StatementSync>();
  readonly #lines: StoredLines;

  constructor(db: DatabaseSync, members: readonly TypeMember[]) {
    this.#db = db;
    this.#types = new TypeNames(db);
    this.#blocks = new Blocks(db, this.#types);
    this.#lines = new StoredLines(members);
  }

  /**
   * One short step: what is selected after `after`, up to `until` at most.
   * @param room what the lines may be put in
   */
  page(after: number, until: number, selection: Selection | undefined, room?: ArrayBuffer): OffsetPage {
    const first = selection ? this.#blocks.skip(after + 1, selection, true) : after + 1;
    if (first === undefined || first > until) return { ...NOTHING, events: 0, scanned: until };
    const last = Math.min(until, first + WINDOW - 1);
    const values: (number | string)[] = [first, last];
    if (selection?.types) values.push(this.#idsOf(selection.types));
    if (selection?.prefix) values.push(selection.prefix, `${selection.prefix}\u{10ffff}`);
    const row = this.#statement(selection).get(...values, PAGE_EVENTS);
    const events = integer(row, 'found');
    const scanned = events < PAGE_EVENTS ? last : integer(row, 'reached');
    if (events === 0) return { ...NOTHING, events, scanned };
    return { ...(this.#made(row, events, room) ?? { ...NOTHING, lines: undefined }), events, scanned };
  }

  /** Undefined where some event needs a closer look. */
  #made(row: Row | undefined, events: number, room: ArrayBuffer | undefined): MadeLines | undefined {
    const views = row?.views;
    // Read as text, what is no UTF-8 would be other bytes.
    if (integer(row, 'ready') < events || !(views instanceof Uint8Array) || !isUtf8(views)) return undefined;
    const bytes = Buffer.from(views.buffer, views.byteOffset, views.byteLength);
    this.#lines.begin(bytes.length, room);
    let from = 0;
    for (const type of text(row, 'types').split(',')) {
      const to = bytes.indexOf(LINE_FEED, from);
      if (to < 0 || !this.#lines.add(bytes, from, to, this.#types.nameOf(Number(type)))) return undefined;
      from = to + 1;
    }
    // A line feed within a stored text would make two lines of one.
    return from === bytes.length ? this.#lines.take() : undefined;
  }

  #statement(selection: Selection | undefined): StatementSync {
    const key = `${Boolean(selection?.types)} ${Boolean(selection?.prefix)}`;
    let statement = this.#statements.get(key);
    if (!statement) {
      statement = this.#db.prepare(`
        SELECT CAST(group_concat(views, '') AS BLOB) AS views, count(*) AS found, count(views) AS ready,
          max(position) AS reached, group_concat(type_id) AS types
        FROM (
          SELECT e.position, e.type_id, ${VIEWS} AS views
          FROM events e CROSS JOIN streams s ON s.id = e.stream_id CROSS JOIN types t ON t.id = e.type_id
          WHERE e.position BETWEEN ? AND ?
          ${selection?.types ? 'AND e.type_id IN (SELECT value FROM json_each(?))' : ''}
          ${selection?.prefix ? 'AND s.name >= ? AND s.name < ?' : ''}
          ORDER BY e.position LIMIT ?
        )`);
      this.#statements.set(key, statement);
    }
    return statement;
  }

  #idsOf(types: ReadonlySet<string>): string {
    return JSON.stringify([...types].flatMap((name) => this.#types.find(name) ?? []));
  }
}

const NOTHING = { lines: new Uint8Array(), texts: new Uint32Array(), keyPages: [] };
