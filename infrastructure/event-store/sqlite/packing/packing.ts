import type { DatabaseSync } from 'node:sqlite';
import type { NewEvent } from '../../../../application/ports/event-store.ts';
import { ValueReader } from './reader.ts';
import { type Shape, Shapes, valueEnd } from './shapes.ts';
import { BYTES, LENGTHS, MOST_UNITS } from './tags.ts';
import { readUuid, writeHex, writeUuid } from './tokens.ts';
import { ValueWriter } from './writer.ts';

/**
 * A packed event begins with its form, its id and, if there is one, the `hash` of its metadata. SQL reads the hash
 * there (`HASH_SQL`).
 */
const FORM = { isHashed: 1, isUtf8: 2, known: 4 } as const;
const ID_AT = 1;
const HASH_AT = ID_AT + BYTES.uuid;
const OWN_HASH = '"hash":"';
/** Kind of the texts of metadata. The kind of a text of data is the number of the event's type. */
const METADATA = 0;

/** An event's id and texts. */
export type EventTexts = Omit<NewEvent, 'type'>;

/**
 * Stores an event's id, data and metadata in few bytes (decision 72): JSON keys once for all events; ids, hashes, times
 * and sealed texts as bytes. Unpacking returns the same texts byte for byte.
 */
export class Packing {
  readonly shapes: Shapes;
  readonly #writer = new ValueWriter();
  readonly #reader = new ValueReader();

  constructor(db: DatabaseSync) {
    this.shapes = new Shapes(db);
  }

  /**
   * The packed event, valid until the next call; undefined if the event must be stored as texts. Called inside a
   * write transaction.
   */
  pack(stream: string, { id, data, metadata }: NewEvent, typeId: number): Uint8Array | undefined {
    const writer = this.#writer;
    const { texts, bytes } = writer;
    if (data.length + metadata.length > MOST_UNITS || id.length !== LENGTHS.uuid) return undefined;
    texts.write(id, 0, 'latin1');
    if (!writeUuid(bytes, ID_AT, texts, 0)) return undefined;
    const dataEnd = texts.write(data, 0);
    const end = dataEnd + texts.write(metadata, dataEnd);
    const hash = metadata.indexOf(OWN_HASH) + OWN_HASH.length + dataEnd;
    const isHashed = hash >= dataEnd + OWN_HASH.length && writeHex(bytes, HASH_AT, texts, hash, BYTES.hash);
    if (!writer.begin(stream, isHashed ? HASH_AT + BYTES.hash : HASH_AT, ID_AT)) return undefined;
    this.#write(0, dataEnd, data, typeId);
    // The place of the opening quote.
    if (isHashed) writer.hash = hash - 1;
    this.#write(dataEnd, end, metadata, METADATA);
    bytes[0] =
      FORM.known | (isHashed ? FORM.isHashed : 0) | (end === data.length + metadata.length ? 0 : FORM.isUtf8);
    const packed = bytes.subarray(0, writer.at);
    return this.#roundTrips(stream, packed, dataEnd, end) ? packed : undefined;
  }

  /** @throws for bytes that no build has packed */
  unpack(stream: string, packed: Uint8Array): EventTexts {
    const form = packed[0] ?? 0;
    const reader = this.#begin(stream, packed, form);
    const { texts } = reader;
    const encoding = (form & FORM.isUtf8) === 0 ? 'latin1' : 'utf8';
    this.#read();
    const dataEnd = reader.end;
    this.#read();
    const data = texts.toString(encoding, 0, dataEnd);
    const metadata = texts.toString(encoding, dataEnd, reader.end);
    return { id: texts.toString('latin1', 0, readUuid(texts, 0, packed, ID_AT)), data, metadata };
  }

  #begin(stream: string, packed: Uint8Array, form: number): ValueReader {
    if ((form & ~(FORM.isHashed | FORM.isUtf8)) !== FORM.known) {
      throw new TypeError(`an event of ${stream} is packed in an unknown form ${form}`);
    }
    const isHashed = (form & FORM.isHashed) !== 0;
    this.#reader.begin(packed, isHashed ? HASH_AT + BYTES.hash : HASH_AT, stream, {
      id: ID_AT,
      hash: HASH_AT,
    });
    return this.#reader;
  }

  /** Whether unpacking returns the texts byte for byte. Otherwise the event is stored as texts. */
  #roundTrips(stream: string, packed: Uint8Array, dataEnd: number, end: number): boolean {
    try {
      const reader = this.#begin(stream, packed, packed[0] ?? 0);
      this.#read();
      if (reader.end !== dataEnd) return false;
      this.#read();
      return reader.end === end && this.#writer.texts.compare(reader.texts, 0, end, 0, end) === 0;
    } catch {
      return false;
    }
  }

  #write(from: number, end: number, text: string, kind: number): void {
    for (const shape of this.shapes.recent(kind)) if (this.#writeAs(from, end, shape)) return;
    this.#writeAs(from, end, this.shapes.ofText(text, kind, kind === METADATA));
  }

  /** Writes a text of this shape. For a text of another shape, writes nothing and returns false. */
  #writeAs(from: number, textEnd: number, { number, parts }: Shape): boolean {
    const writer = this.#writer;
    const { texts } = writer;
    const before = writer.mark;
    writer.number(number);
    if (number === 0) {
      writer.value(from, textEnd);
      return true;
    }
    const last = parts.length - 1;
    let at = from;
    for (let nth = 0; nth <= last; nth += 1) {
      const part = parts[nth];
      const value = part === undefined ? -1 : afterPart(texts, at, part);
      const end = value < 0 || nth === last ? value : valueEnd(texts, value, textEnd);
      if (end < 0) {
        writer.rewind(before);
        return false;
      }
      if (nth < last) writer.value(value, end);
      at = end;
    }
    if (at !== textEnd) writer.rewind(before);
    return at === textEnd;
  }

  #read(): void {
    const reader = this.#reader;
    const { parts } = this.shapes.numbered(reader.number());
    for (let nth = 0; nth < parts.length; nth += 1) {
      const part = parts[nth];
      if (nth > 0) reader.value();
      if (part !== undefined) reader.copy(part, 0, part.length);
    }
  }
}

/** The end of a part at `at`; -1 when the text there differs. */
function afterPart(texts: Uint8Array, at: number, part: Uint8Array): number {
  for (let nth = 0; nth < part.length; nth += 1) if (texts[at + nth] !== part[nth]) return -1;
  return at + part.length;
}
