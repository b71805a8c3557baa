import type { TypeMember } from '../event-store.ts';
import { JsonPass, type MemberName } from './json-pass.ts';
import { KeyPlaces } from './key-places.ts';
import { LineTexts } from './line-texts.ts';

/**
 * Lines of an export (docs/audit-format.md) made of the bytes of stored texts, by the store or by whoever has read the
 * events. The texts themselves stand as views: personal ones are not opened yet.
 */

const BRACE = 0x7b;
const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
const DATA = bytesOf('"data":');
const METADATA = bytesOf(',"metadata":');
const SEALED = bytesOf(',"sealed":{"data":"');
const SEALED_METADATA = bytesOf('","metadata":"');
const END = bytesOf('"}}\n');
const AROUND = SEALED.length + SEALED_METADATA.length + END.length;
/** How much longer than their beginnings lines are, and a little more. */
const USUAL = 2.1;
const SLACK = 16 * 1024;
const NONE: readonly MemberName[] = [];
const NO_ROOM = Buffer.alloc(0);

/** As those of a `LinePage`. */
export interface MadeLines {
  readonly lines: Uint8Array<ArrayBuffer>;
  readonly texts: Uint32Array<ArrayBuffer>;
  readonly keyPages: readonly string[];
}

export class StoredLines {
  readonly #names = new Map<string, MemberName[]>();
  readonly #pass = new JsonPass();
  readonly #places = new KeyPlaces();
  /** As the pass finds them. */
  readonly #found: number[] = [];
  readonly #texts: number[] = [];
  #room: Buffer<ArrayBuffer> = NO_ROOM;
  #length = 0;

  constructor(members: readonly TypeMember[]) {
    for (const [number, { type, name }] of members.entries()) {
      const names = this.#names.get(type) ?? [];
      names.push({ bytes: bytesOf(name), number });
      this.#names.set(type, names);
    }
  }

  /**
   * Begins anew.
   * @param bytes of the beginnings of all lines that are about to be added, about
   * @param room to put them in, if it is large enough: new memory costs more than what is done in it
   */
  begin(bytes: number, room?: ArrayBuffer): void {
    const usual = Math.ceil(USUAL * bytes) + SLACK;
    this.#room =
      room !== undefined && room.byteLength >= usual ? Buffer.from(room) : Buffer.allocUnsafeSlow(usual);
    this.#pass.out = this.#room;
    this.#length = 0;
    this.#texts.length = 0;
    this.#places.begin();
  }

  /** Bytes of all lines that were added. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds a line. Its beginning is between, in UTF-8:
   * `{"position":…,"stream":…,"revision":…,"id":…,"type":…,"data":DATA,"metadata":METADATA`, where DATA and METADATA are
   * stored texts, and all before them is JSON.
   * @returns false where they are not as the codec writes them: then the line needs a closer look, and nothing was added
   */
  add(bytes: Buffer, from: number, to: number, type: string): boolean {
    // A brace in the name of a stream is not what is looked for, and is noticed.
    const dataAt = bytes.indexOf(BRACE, from + 1);
    if (dataAt < 0 || dataAt >= to || !isAt(bytes, dataAt - DATA.length, DATA)) return false;
    const room = this.#roomFor(to - from);
    const pass = this.#pass;
    const found = this.#found;
    found.length = 0;
    pass.length = put(room, this.#length + to - from, SEALED);
    let end = pass.object(bytes, dataAt, this.#names.get(type) ?? NONE, found);
    if (end >= 0 && isAt(bytes, end, METADATA)) {
      pass.length = put(room, pass.length, SEALED_METADATA);
      end = pass.object(bytes, end + METADATA.length, NONE, found);
    } else end = -1;
    if (end !== to) return false;
    bytes.copy(room, this.#length, from, to);
    const moved = this.#length - from;
    const places = this.#places;
    for (let at = 0; at < found.length; at += 3) {
      const [begins = 0, ends = 0, member = 0] = [found[at], found[at + 1], found[at + 2]];
      places.find(bytes, begins + 1, ends - 1);
      LineTexts.add(this.#texts, begins + moved, ends + moved, member, places.page, places.slot);
    }
    this.#length = put(room, pass.length, END);
    return true;
  }

  /** All that was added. What it is in is given away: begin anew before more is added. */
  take(): MadeLines {
    const lines = new Uint8Array(this.#room.buffer, 0, this.#length);
    this.#room = NO_ROOM;
    this.#pass.letGo();
    return { lines, texts: new Uint32Array(this.#texts), keyPages: [...this.#places.pages] };
  }

  /** What is a view stands in the line as it is, and as a JSON string, which is twice as long at most. */
  #roomFor(bytes: number): Buffer {
    const most = this.#length + 3 * bytes + AROUND;
    if (most > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(2 * most);
      this.#room.copy(room, 0, 0, this.#length);
      this.#room = room;
      this.#pass.out = room;
    }
    return this.#room;
  }
}

const isAt = (bytes: Buffer, at: number, text: Uint8Array): boolean => {
  for (let nth = 0; nth < text.length; nth += 1) if (bytes[at + nth] !== text[nth]) return false;
  return true;
};

/** One by one: a call out of the language costs as much as sixty bytes. */
const put = (bytes: Buffer, at: number, text: Uint8Array): number => {
  for (let nth = 0; nth < text.length; nth += 1) bytes[at + nth] = text[nth] ?? 0;
  return at + text.length;
};

/** The beginning of a line. */
export const viewsOf = (event: {
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}): string =>
  `{"position":"${event.position}","stream":${JSON.stringify(event.stream)},"revision":${event.revision},` +
  `"id":${JSON.stringify(event.id)},"type":${JSON.stringify(event.type)},` +
  `"data":${event.data},"metadata":${event.metadata}`;
