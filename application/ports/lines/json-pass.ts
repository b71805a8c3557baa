/** One pass over the bytes of stored JSON: whether it is JSON, how it reads as a JSON string, and where texts are in it. */

/** A name of a member, and the number that it is known by. */
export interface MemberName {
  readonly bytes: Uint8Array;
  readonly number: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const LIST = 0x5b;
const LIST_END = 0x5d;
const LETTER_U = 0x75;
const FIRST_PRINTABLE = 0x20;
const MOST_DEEP = 32;
/** In each of four bytes: a one, the highest bit, and what finds a quote, a control character, or a backslash. */
const ONES = 0x01010101;
const HIGHEST = 0x80808080;
const FLIP_QUOTE = 0x02020202;
const AFTER_CONTROLS = 0x21212121;
const BACKSLASHES = 0x5c5c5c5c;

/** What may come next. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COMMA_OR_END = 4;

const flags = (units: string): Uint8Array => {
  const table = new Uint8Array(256);
  for (const unit of Buffer.from(units, 'latin1')) table[unit] = 1;
  return table;
};
const AFTER_BACKSLASH = flags('"\\/bfnrtu');
const HEX = flags('0123456789abcdefABCDEF');
const DIGIT = flags('0123456789');
const OF_PLAIN = flags('+-.0123456789Eaeflnrstu');
const PLAIN = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/;

export class JsonPass {
  length = 0;
  #out: Uint8Array = new Uint8Array();
  #outWords = wordsOf(this.#out);
  #bytes = this.#out;
  #words = this.#outWords;
  readonly #isObject = new Uint8Array(MOST_DEEP);

  /** What is written into: enough room is the caller's to see to, twice the bytes that are read, and eight. */
  set out(room: Uint8Array) {
    this.#out = room;
    this.#outWords = wordsOf(room);
  }

  get out(): Uint8Array {
    return this.#out;
  }

  /** Keeps nothing of what was read and written. */
  letGo(): void {
    this.out = NOTHING;
    this.#bytes = NOTHING;
    this.#words = this.#outWords;
  }

  /**
   * Writes the object that begins at `at` as it stands in a JSON string.
   * @param names of members; of those whose values are texts `found` gets, in the order in which they are written, where
   * the text begins and ends, with its quotes, and the number
   * @returns where it ends; -1 for what is no JSON, and where only a closer look tells: anything between tokens, great
   * depth, and with `names` one of them twice, or a name or such a text that is written with a backslash
   */
  object(bytes: Uint8Array, at: number, names: readonly MemberName[], found: number[]): number {
    const out = this.#out;
    const outWords = this.#outWords;
    if (bytes !== this.#bytes) {
      this.#bytes = bytes;
      this.#words = wordsOf(bytes);
    }
    const words = this.#words;
    const lastWord = bytes.length - 4;
    const isObject = this.#isObject;
    if (bytes[at] !== OBJECT) return -1;
    isObject[0] = 1;
    let length = this.length;
    out[length++] = OBJECT;
    let depth = 0;
    let next = NAME_OR_END;
    let member = -1;
    let seen = 0;
    for (let place = at + 1; ; ) {
      const byte = bytes[place] ?? 0;
      if (byte === QUOTE) {
        if (next === COMMA_OR_END) return -1;
        const from = place;
        let isEscaped = false;
        out[length] = BACKSLASH;
        out[length + 1] = QUOTE;
        length += 2;
        place += 1;
        for (;;) {
          // Four at a time, up to what is not written as it is: that takes two thirds of the time.
          while (place <= lastWord) {
            const four = words.getInt32(place, true);
            outWords.setInt32(length, four, true);
            const flipped = four ^ FLIP_QUOTE;
            const other = four ^ BACKSLASHES;
            // The lowest bit that is set is that of the first such byte, whatever those after it are.
            const odd = (((flipped - AFTER_CONTROLS) & ~flipped) | ((other - ONES) & ~other)) & HIGHEST;
            const plain = odd === 0 ? 4 : (31 - Math.clz32(odd & -odd)) >>> 3;
            length += plain;
            place += plain;
            if (odd !== 0) break;
          }
          let unit = bytes[place] ?? 0;
          if (unit === QUOTE) break;
          if (unit < FIRST_PRINTABLE) return -1;
          if (unit === BACKSLASH) {
            isEscaped = true;
            const escaped = bytes[place + 1] ?? 0;
            if (AFTER_BACKSLASH[escaped] === 0 || (escaped === LETTER_U && !isHex(bytes, place + 2)))
              return -1;
            out[length] = BACKSLASH;
            length += 1;
            if (escaped === QUOTE || escaped === BACKSLASH) {
              out[length] = BACKSLASH;
              out[length + 1] = BACKSLASH;
              length += 2;
              unit = escaped;
              place += 1;
            }
          }
          out[length] = unit;
          length += 1;
          place += 1;
        }
        out[length] = BACKSLASH;
        out[length + 1] = QUOTE;
        length += 2;
        place += 1;
        if (next === NAME || next === NAME_OR_END) {
          if (bytes[place] !== COLON) return -1;
          out[length] = COLON;
          length += 1;
          next = VALUE;
          if (depth === 0 && names.length > 0) {
            if (isEscaped) return -1;
            const nth = nameAt(bytes, from + 1, place - 1, names);
            member = -1;
            if (nth >= 0) {
              member = names[nth]?.number ?? -1;
              if ((seen & (1 << nth)) !== 0) return -1;
              seen |= 1 << nth;
            }
          }
          place += 1;
        } else {
          next = COMMA_OR_END;
          if (depth === 0 && member >= 0) {
            if (isEscaped) return -1;
            found.push(from, place, member);
          }
        }
        continue;
      }
      if (byte === COMMA) {
        if (next !== COMMA_OR_END) return -1;
        next = isObject[depth] === 1 ? NAME : VALUE;
      } else if (byte === OBJECT || byte === LIST) {
        if (next > VALUE_OR_END || depth + 1 >= MOST_DEEP) return -1;
        depth += 1;
        isObject[depth] = byte === OBJECT ? 1 : 0;
        next = byte === OBJECT ? NAME_OR_END : VALUE_OR_END;
      } else if (byte === OBJECT_END || byte === LIST_END) {
        const isOpen = (isObject[depth] === 1) === (byte === OBJECT_END);
        const isEmpty = next === (byte === OBJECT_END ? NAME_OR_END : VALUE_OR_END);
        if (!isOpen || (!isEmpty && next !== COMMA_OR_END)) return -1;
        if (depth === 0) {
          out[length] = byte;
          this.length = length + 1;
          return place + 1;
        }
        depth -= 1;
        next = COMMA_OR_END;
      } else {
        if (next > VALUE_OR_END) return -1;
        const end = plainEnd(bytes, place);
        if (end < 0) return -1;
        for (; place < end; place += 1) out[length++] = bytes[place] ?? 0;
        next = COMMA_OR_END;
        continue;
      }
      out[length] = byte;
      length += 1;
      place += 1;
    }
  }
}

const NOTHING = new Uint8Array();

const wordsOf = ({ buffer, byteOffset, byteLength }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength);

const isHex = (bytes: Uint8Array, at: number): boolean => {
  for (let nth = at; nth < at + 4; nth += 1) if (HEX[bytes[nth] ?? 0] === 0) return false;
  return true;
};

/** Of a number, true, false or null; -1 for none. */
const plainEnd = (bytes: Uint8Array, at: number): number => {
  // Most are numbers of one digit.
  if (DIGIT[bytes[at] ?? 0] === 1 && OF_PLAIN[bytes[at + 1] ?? 0] === 0) return at + 1;
  let end = at;
  let text = '';
  for (; OF_PLAIN[bytes[end] ?? 0] === 1; end += 1) text += String.fromCharCode(bytes[end] ?? 0);
  return PLAIN.test(text) ? end : -1;
};

const nameAt = (bytes: Uint8Array, from: number, to: number, names: readonly MemberName[]): number => {
  for (let index = 0; index < names.length; index += 1) {
    const wanted = names[index]?.bytes;
    if (wanted === undefined || wanted.length !== to - from) continue;
    let nth = 0;
    while (nth < wanted.length && wanted[nth] === bytes[from + nth]) nth += 1;
    if (nth === wanted.length) return index;
  }
  return -1;
};
