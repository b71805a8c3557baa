import { KnownUuids, OF_EVENT, OF_STREAM } from './known-uuids.ts';
import { BYTES, LENGTHS, MOST_UNITS, TAGS } from './tags.ts';
import { readBase64, readHex, readTime, readUuid } from './tokens.ts';

const ROOM = 4 * MOST_UNITS;
const QUOTE = 34;
/** Length (bytes) from which a native copy is faster. */
const LONG = 64;

/** Writes the texts of packed values as UTF-8 to `texts`. Methods that write return the end of the texts. */
export class ValueReader {
  readonly texts = Buffer.allocUnsafeSlow(ROOM);
  /** The end of the texts. */
  end = 0;
  /** The next packed byte. */
  #at = 0;
  #bytes: Uint8Array = this.texts;
  #stream = '';
  #hash = 0;
  readonly #uuids = new KnownUuids();
  readonly #near = Buffer.alloc(BYTES.uuid);

  /** @param own places of the event's id and hash */
  begin(
    bytes: Uint8Array,
    at: number,
    stream: string,
    own: { readonly id: number; readonly hash: number },
  ): void {
    this.#bytes = bytes;
    this.#at = at;
    this.#stream = stream;
    this.#hash = own.hash;
    // A UUID of the stream's name is read from the name itself.
    this.#uuids.count = OF_EVENT;
    this.#uuids.add(bytes, own.id);
    this.end = 0;
  }

  number(): number {
    this.#at += 2;
    return ((this.#bytes[this.#at - 2] ?? 0) << 8) | (this.#bytes[this.#at - 1] ?? 0);
  }

  /** Copies bytes as they are. */
  copy(from: Uint8Array, start: number, length: number): number {
    const { texts, end } = this;
    if (length >= LONG) texts.set(from.subarray(start, start + length), end);
    else for (let nth = 0; nth < length; nth += 1) texts[end + nth] = from[start + nth] ?? 0;
    this.end = end + length;
    return this.end;
  }

  value(): number {
    const tag = this.#bytes[this.#at++] ?? TAGS.end;
    if (tag !== TAGS.pieces) return this.#token(tag);
    for (;;) {
      const piece = this.#bytes[this.#at++] ?? TAGS.end;
      if (piece === TAGS.end) return this.end;
      this.#token(piece);
    }
  }

  #token(tag: number): number {
    if (tag >= TAGS.string) {
      this.#quote();
      this.#literal(tag - TAGS.string);
      return this.#quote();
    }
    if (tag >= TAGS.literal) return this.#literal(tag - TAGS.literal);
    if (tag === TAGS.longLiteral) return this.#literal(this.number());
    if (tag === TAGS.base64) {
      const length = this.number();
      this.end = readBase64(this.texts, this.end, this.#bytes, this.#take(length), length);
      return this.end;
    }
    if (tag === TAGS.uuid) return this.#newUuid();
    if (tag === TAGS.knownUuid) return this.#knownUuid();
    this.#quote();
    this.#quoted(tag);
    return this.#quote();
  }

  #quoted(tag: number): number {
    const { texts, end } = this;
    switch (tag) {
      case TAGS.quotedUuid:
        return this.#newUuid();
      case TAGS.quotedKnownUuid:
        return this.#knownUuid();
      case TAGS.quotedHash:
        this.end = readHex(texts, end, this.#bytes, this.#take(BYTES.hash), BYTES.hash);
        return this.end;
      case TAGS.quotedOwnHash:
        this.end = readHex(texts, end, this.#bytes, this.#hash, BYTES.hash);
        return this.end;
      case TAGS.quotedTime:
        this.end = readTime(texts, end, this.#bytes, this.#take(BYTES.time));
        return this.end;
      case TAGS.quotedOwner:
        return this.#name(0, this.#stream.indexOf('.'));
      case TAGS.quotedNearUuid:
        return this.#nearUuid();
      case TAGS.quotedCopy: {
        const place = this.number();
        const length = this.#bytes[this.#take(1)] ?? 0;
        return this.copy(texts, place, length);
      }
      default:
        throw new TypeError(`a packed event holds an unknown tag ${tag}`);
    }
  }

  #take(bytes: number): number {
    this.#at += bytes;
    return this.#at - bytes;
  }

  #literal(length: number): number {
    return this.copy(this.#bytes, this.#take(length), length);
  }

  #newUuid(): number {
    this.#uuids.add(this.#bytes, this.#at);
    this.end = readUuid(this.texts, this.end, this.#bytes, this.#take(BYTES.uuid));
    return this.end;
  }

  #nearUuid(): number {
    const { bytes } = this.#uuids;
    const near = this.#near;
    const event = this.#uuids.placeOf(OF_EVENT);
    for (let nth = 0; nth < BYTES.shared; nth += 1) near[nth] = bytes[event + nth] ?? 0;
    const rest = this.#take(BYTES.uuid - BYTES.shared) - BYTES.shared;
    for (let nth = BYTES.shared; nth < BYTES.uuid; nth += 1) near[nth] = this.#bytes[rest + nth] ?? 0;
    this.#uuids.add(near, 0);
    this.end = readUuid(this.texts, this.end, near, 0);
    return this.end;
  }

  #knownUuid(): number {
    const known = this.#bytes[this.#take(1)] ?? 0;
    if (known === OF_STREAM) return this.#name(this.#stream.length - LENGTHS.uuid, this.#stream.length);
    this.end = readUuid(this.texts, this.end, this.#uuids.bytes, this.#uuids.placeOf(known));
    return this.end;
  }

  /** A part of the stream's name, in ASCII. */
  #name(from: number, end: number): number {
    for (let at = from; at < end; at += 1) this.texts[this.end++] = this.#stream.charCodeAt(at);
    return this.end;
  }

  #quote(): number {
    this.texts[this.end++] = QUOTE;
    return this.end;
  }
}
