import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { numberOf, textOf } from '../../../sqlite/connection.ts';

/** Stands for a value in the stored text of a shape; JSON texts hold no control characters. */
const VALUE = '\u0001';
/**
 * A text with more values is packed as one value (shape 0), since its own shape would be stored for ever and hardly be
 * used again. The same holds for a shape with more than `MOST_LENGTH` characters.
 */
const MOST_VALUES = 48;
const MOST_LENGTH = 2_000;
/** Maximum of shapes in the table; the number of a shape takes two bytes. */
const MOST_SHAPES = 4_096;
/** Recent shapes of one kind of text that are tried before a text is parsed. */
const RECENT = 6;

/** The texts between the values of JSON objects with the same members. */
export interface Shape {
  /** 0: the whole text is one value. */
  readonly number: number;
  readonly parts: readonly Uint8Array[];
}

const shapeOf = (number: number, parts: readonly string[]): Shape => ({
  number,
  parts: parts.map((part) => Buffer.from(part)),
});

const WHOLE = shapeOf(0, ['', '']);

/** Caches the table `shapes`, which grows with event types and their sets of members, not with the events. */
export class Shapes {
  readonly #byNumber = new Map<number, Shape>([[0, WHOLE]]);
  readonly #byText = new Map<string, Shape>();
  readonly #recent = new Map<number, Shape[]>();
  readonly #db: DatabaseSync;
  #insert: StatementSync | undefined;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** The most recent shapes of texts of this kind. */
  recent(kind: number): Shape[] {
    let shapes = this.#recent.get(kind);
    if (shapes === undefined) {
      shapes = [];
      this.#recent.set(kind, shapes);
    }
    return shapes;
  }

  /**
   * The shape of a text, added to the table if it is new; called inside a write transaction.
   * @param isNested includes the members of nested objects, for texts whose members are always the same
   */
  ofText(text: string, kind: number, isNested: boolean): Shape {
    const parts = partsOf(text, isNested);
    const shape = parts === undefined ? WHOLE : this.#find(parts);
    if (shape === WHOLE) return shape;
    const recent = this.recent(kind);
    recent.unshift(shape);
    if (recent.length > RECENT) recent.pop();
    return shape;
  }

  /** @throws for a shape that is not stored */
  numbered(number: number): Shape {
    const known = this.#byNumber.get(number);
    if (known !== undefined) return known;
    const row = this.#db.prepare('SELECT text FROM shapes WHERE id = ?').get(number);
    const text = textOf(row, 'text');
    return this.#keep(text, shapeOf(number, text.split(VALUE)));
  }

  /** Clears the cache after a rollback, which may have removed shapes. */
  clear(): void {
    this.#byNumber.clear();
    this.#byText.clear();
    this.#recent.clear();
    this.#byNumber.set(0, WHOLE);
  }

  #find(parts: readonly string[]): Shape {
    const text = parts.join(VALUE);
    const known = this.#byText.get(text);
    if (known !== undefined) return known;
    const row = this.#db.prepare('SELECT id FROM shapes WHERE text = ?').get(text);
    if (row !== undefined) return this.#keep(text, shapeOf(numberOf(row, 'id'), parts));
    this.#insert ??= this.#db.prepare(
      `INSERT INTO shapes (text) SELECT ? WHERE (SELECT ifnull(max(id), 0) FROM shapes) < ${MOST_SHAPES}`,
    );
    const { changes, lastInsertRowid } = this.#insert.run(text);
    return changes === 0 ? WHOLE : this.#keep(text, shapeOf(Number(lastInsertRowid), parts));
  }

  #keep(text: string, shape: Shape): Shape {
    this.#byNumber.set(shape.number, shape);
    this.#byText.set(text, shape);
    return shape;
  }
}

const QUOTE = 34;
const BACKSLASH = 92;
const [OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [91, 93, 123, 125];
const [COMMA, COLON] = [44, 58];

/**
 * Splits a text at the values of its members. Undefined unless the text is a JSON object without white space and
 * within the limits.
 */
function partsOf(text: string, isNested: boolean): string[] | undefined {
  const bytes = Buffer.from(text);
  if (bytes[0] !== OPEN || text.includes(VALUE)) return undefined;
  const parts: string[] = [];
  let start = 0;
  let depth = 1;
  for (let at = 1; ; ) {
    if (bytes[at] !== QUOTE || parts.length >= MOST_VALUES) return undefined;
    const value = stringEnd(bytes, at, bytes.length) + 1;
    if (value <= 0 || bytes[value - 1] !== COLON) return undefined;
    if (isNested && bytes[value] === OPEN && bytes[value + 1] === QUOTE) {
      depth += 1;
      at = value + 1;
      continue;
    }
    let end = valueEnd(bytes, value, bytes.length);
    if (end < 0) return undefined;
    parts.push(bytes.toString('utf8', start, value));
    start = end;
    for (; bytes[end] === CLOSE && depth > 0; end += 1) depth -= 1;
    if (depth === 0 && end === bytes.length) break;
    if (bytes[end] !== COMMA) return undefined;
    at = end + 1;
  }
  parts.push(bytes.toString('utf8', start));
  return parts.join('').length > MOST_LENGTH ? undefined : parts;
}

/** The end of the JSON value at `at`; -1 if no value ends before `limit`. */
export function valueEnd(text: Uint8Array, at: number, limit: number): number {
  const first = text[at];
  if (first === QUOTE) return stringEnd(text, at, limit);
  if (first !== OPEN && first !== OPEN_LIST) {
    for (let end = at; end < limit; end += 1) {
      const code = text[end];
      if (code === COMMA || code === CLOSE) return end > at ? end : -1;
    }
    return -1;
  }
  let depth = 0;
  for (let end = at; end < limit; end += 1) {
    const code = text[end];
    if (code === QUOTE) {
      end = stringEnd(text, end, limit) - 1;
      if (end < 0) return -1;
    } else if (code === OPEN || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE || code === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return end + 1;
    }
  }
  return -1;
}

/** The end of the string at `at`; -1 if the string does not end before `limit`. */
function stringEnd(text: Uint8Array, at: number, limit: number): number {
  for (let end = at + 1; end < limit; end += 1) {
    const code = text[end];
    if (code === BACKSLASH) end += 1;
    else if (code === QUOTE) return end + 1;
  }
  return -1;
}
