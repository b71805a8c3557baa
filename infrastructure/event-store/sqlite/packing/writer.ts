import { KnownUuids, OF_STREAM } from './known-uuids.ts';
import { BYTES, LENGTHS, MOST_UNITS, TAGS } from './tags.ts';
import { writeBase64, writeHex, writeTime, writeUuid } from './tokens.ts';

/** Size of the buffers of a packed event and of its texts, enough for an event in which nothing can be packed. */
const ROOM = 4 * MOST_UNITS;
const SHORT_LITERAL = TAGS.string - TAGS.literal - 1;
const LONGEST_STRING = LENGTHS.uuid - 1;
/**
 * Lengths, with quotes, of strings that may be stored as a reference to an earlier occurrence. A shorter string gains
 * nothing; longer strings are contents, which hardly repeat.
 */
const [LEAST_COPY, MOST_COPY] = [8, 80];
/** `"v1:<key id>:<base64>"` is a sealed text. */
const SEALED = Buffer.from('"v1:');
const [QUOTE, DASH, COLON, DOT] = [34, 45, 58, 46];

/** Packs values of the texts that `texts` holds as UTF-8. */
export class ValueWriter {
  readonly texts = Buffer.allocUnsafeSlow(ROOM);
  readonly bytes = Buffer.allocUnsafeSlow(ROOM);
  at = 0;
  /** Offset in `texts` of the opening quote of the event's own hash (`TAGS.quotedOwnHash`); -1 for none. */
  hash = -1;
  readonly #stream = Buffer.allocUnsafeSlow(1024);
  #owner = 0;
  readonly #uuids = new KnownUuids();

  /**
   * @param id place of the event's UUID
   * @returns false for a stream's name that is too long to be referred to
   */
  begin(stream: string, at: number, id: number): boolean {
    this.at = at;
    this.hash = -1;
    if (stream.length > 256) return false;
    const length = this.#stream.write(stream, 'utf8');
    this.#owner = length === stream.length ? this.#stream.subarray(0, length).indexOf(DOT) : -1;
    const isUuid = writeUuid(this.bytes, at, this.#stream, Math.max(0, length - LENGTHS.uuid));
    if (!isUuid) this.bytes.fill(0, at, at + BYTES.uuid);
    this.#uuids.count = OF_STREAM;
    this.#uuids.add(this.bytes, at);
    this.#uuids.add(this.bytes, id);
    return true;
  }

  /** The current state, for {@link rewind}. */
  get mark(): readonly [at: number, uuids: number] {
    return [this.at, this.#uuids.count];
  }

  rewind([at, uuids]: readonly [at: number, uuids: number]): void {
    this.at = at;
    this.#uuids.count = uuids;
  }

  /** Writes the number of a shape. */
  number(value: number): void {
    this.bytes[this.at] = value >> 8;
    this.bytes[this.at + 1] = value;
    this.at += 2;
  }

  /** Writes a JSON value, or another part of a text. @returns the end of the packed bytes */
  value(from: number, end: number): number {
    const length = end - from;
    const { texts, bytes, at } = this;
    if (length === 0) return this.#endValue(TAGS.literal, 0);
    if (length >= 2 && texts[from] === QUOTE && texts[end - 1] === QUOTE) {
      if (length === LENGTHS.uuid + 2 && this.#writeUuid(from + 1, TAGS.quotedUuid)) return this.at;
      if (length === LENGTHS.hash + 2) {
        if (from === this.hash) return this.#endValue(TAGS.quotedOwnHash, 0);
        if (writeHex(bytes, at + 1, texts, from + 1, BYTES.hash))
          return this.#endValue(TAGS.quotedHash, BYTES.hash);
      }
      if (length === LENGTHS.time + 2 && writeTime(bytes, at + 1, texts, from + 1)) {
        return this.#endValue(TAGS.quotedTime, BYTES.time);
      }
      if (length === this.#owner + 2 && this.#isOwner(from + 1)) return this.#endValue(TAGS.quotedOwner, 0);
      if (length >= LEAST_COPY && length <= MOST_COPY && this.#writeReference(from + 1, end - 1))
        return this.at;
      if (length - 2 <= LONGEST_STRING) return this.#copy(from + 1, length - 2, TAGS.string);
    }
    return length < LENGTHS.uuid ? this.#literal(from, end) : this.#pieces(from, end);
  }

  /** Writes the tag before a value that is written already. @param bytes length of the value @returns the end */
  #endValue(tag: number, bytes: number): number {
    this.bytes[this.at] = tag;
    this.at += 1 + bytes;
    return this.at;
  }

  #isOwner(from: number): boolean {
    for (let at = 0; at < this.#owner; at += 1) if (this.texts[from + at] !== this.#stream[at]) return false;
    return true;
  }

  /** @param tag of a new UUID; the tag of a known UUID is `tag + 1` */
  #writeUuid(from: number, tag: typeof TAGS.uuid | typeof TAGS.quotedUuid): boolean {
    const place = this.at + 1;
    if (!writeUuid(this.bytes, place, this.texts, from)) return false;
    const known = this.#uuids.find(this.bytes, place);
    if (known < 0) {
      this.#uuids.add(this.bytes, place);
      if (tag === TAGS.quotedUuid && this.#uuids.isNear(this.bytes, place)) {
        this.bytes.copyWithin(place, place + BYTES.shared, place + BYTES.uuid);
        this.#endValue(TAGS.quotedNearUuid, BYTES.uuid - BYTES.shared);
      } else this.#endValue(tag, BYTES.uuid);
    } else {
      this.bytes[place] = known;
      this.#endValue(tag + 1, 1);
    }
    return true;
  }

  /** Writes a reference to an earlier occurrence of the string, if there is one. */
  #writeReference(from: number, end: number): boolean {
    const { texts } = this;
    const place = texts.indexOf(texts.subarray(from, end));
    if (place + end - from > from) return false;
    this.bytes[this.at + 1] = place >> 8;
    this.bytes[this.at + 2] = place;
    this.bytes[this.at + 3] = end - from;
    this.#endValue(TAGS.quotedCopy, 3);
    return true;
  }

  #copy(from: number, length: number, tag: typeof TAGS.literal | typeof TAGS.string): number {
    const { texts, bytes } = this;
    const to = this.at + 1;
    for (let nth = 0; nth < length; nth += 1) bytes[to + nth] = texts[from + nth] ?? 0;
    return this.#endValue(tag + length, length);
  }

  #literal(from: number, end: number): number {
    const length = end - from;
    if (length === 0) return this.at;
    if (length <= SHORT_LITERAL) return this.#copy(from, length, TAGS.literal);
    this.texts.copy(this.bytes, this.at + 3, from, end);
    return this.#long(TAGS.longLiteral, length);
  }

  #long(tag: number, length: number): number {
    this.bytes[this.at + 1] = length >> 8;
    this.bytes[this.at + 2] = length;
    return this.#endValue(tag, 2 + length);
  }

  #pieces(from: number, end: number): number {
    const { texts } = this;
    this.#endValue(TAGS.pieces, 0);
    let start = from;
    for (let at = from; at < end; at += 1) {
      const code = texts[at];
      if (
        code === DASH &&
        at - 8 >= start &&
        at + 28 <= end &&
        texts[at + 5] === DASH &&
        texts[at + 15] === DASH
      ) {
        this.#literal(start, at - 8);
        start = at - 8;
        if (this.#writeUuid(start, TAGS.uuid)) {
          start += LENGTHS.uuid;
          at = start - 1;
        }
      } else if (code === COLON && at + 4 < end && this.#writeSealed(start, at + 1, from, end)) {
        start = texts.indexOf(QUOTE, at + 1);
        at = start;
      }
    }
    this.#literal(start, end);
    return this.#endValue(TAGS.end, 0);
  }

  /**
   * Writes a sealed text: the literal from `start` to `body`, then the base64 from `body` to the closing quote.
   * False, with nothing written, if the text is not sealed.
   */
  #writeSealed(start: number, body: number, from: number, end: number): boolean {
    const { texts } = this;
    const open = texts.lastIndexOf(QUOTE, body - 1);
    if (
      open < from ||
      body - open <= SEALED.length ||
      texts.compare(SEALED, 0, SEALED.length, open, open + SEALED.length) !== 0
    )
      return false;
    const close = texts.indexOf(QUOTE, body);
    if (close < 0 || close >= end) return false;
    const before = this.at;
    this.#literal(start, body);
    const length = writeBase64(this.bytes, this.at + 3, texts, body, close);
    if (length < 0) this.at = before;
    else this.#long(TAGS.base64, length);
    return length >= 0;
  }
}
