/**
 * Where the key of a sealed text lies, read from the bytes of the text: `v1:<tenant>/message-<page>.<slot>:<base64>`. An
 * export asks it for each text, and what most texts need is no more than that their keys are gone.
 */

/** A place of a text whose key lies elsewhere, or that is no sealed text. */
export const NO_PAGE = 0xffffffff;
/** Slots of a page. */
export const SLOTS = 128;

const VERSION = Buffer.from('v1:');
const BEFORE_PAGE = Buffer.from('/message-');
/** Of a page's id. */
const UUID = 36;
const MOST_DIGITS = 3;
const COLON = 0x3a;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const HYPHEN = 0x2d;
const LETTER_A = 0x61;
const LETTER_F = 0x66;

export class KeyPlaces {
  /** `<tenant>/message-<page>`, each once. */
  readonly #pages: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** Neighbours in the log share their page nearly always. */
  #last: Uint8Array = new Uint8Array();
  #lastNumber = NO_PAGE;
  /** Of the text that {@link find} found last. */
  page = NO_PAGE;
  slot = 0;

  begin(): void {
    this.#pages.length = 0;
    this.#numbers.clear();
    this.#last = new Uint8Array();
    this.#lastNumber = NO_PAGE;
  }

  /** All pages since the beginning, by their numbers. */
  get pages(): readonly string[] {
    return this.#pages;
  }

  /** Sets `page`, to {@link NO_PAGE} where there is none, and `slot`. */
  find(bytes: Buffer, from: number, to: number): void {
    this.page = NO_PAGE;
    if (!isAt(bytes, from, VERSION)) return;
    let end = to - 1;
    while (end > from && bytes[end] !== COLON) end -= 1;
    let dot = end - 1;
    let slot = 0;
    for (let unit = 1; isDigit(bytes[dot]); dot -= 1, unit *= 10) slot += unit * ((bytes[dot] ?? 0) - ZERO);
    const digits = end - 1 - dot;
    if (digits < 1 || digits > MOST_DIGITS || slot >= SLOTS || bytes[dot] !== DOT) return;
    this.slot = slot;
    this.page = this.#numberOf(bytes, from + VERSION.length, dot);
  }

  #numberOf(bytes: Buffer, from: number, to: number): number {
    if (this.#last.length > 0 && to - from === this.#last.length && isAt(bytes, from, this.#last))
      return this.#lastNumber;
    const at = to - UUID;
    if (at - BEFORE_PAGE.length < from || !isAt(bytes, at - BEFORE_PAGE.length, BEFORE_PAGE)) return NO_PAGE;
    for (let nth = 0; nth < UUID; nth += 1) {
      const unit = bytes[at + nth] ?? 0;
      const isHyphen = nth === 8 || nth === 13 || nth === 18 || nth === 23;
      if (isHyphen ? unit !== HYPHEN : !isDigit(unit) && (unit < LETTER_A || unit > LETTER_F)) return NO_PAGE;
    }
    const page = bytes.toString('utf8', from, to);
    let number = this.#numbers.get(page);
    if (number === undefined) {
      number = this.#pages.push(page) - 1;
      this.#numbers.set(page, number);
    }
    this.#last = Uint8Array.prototype.slice.call(bytes, from, to);
    this.#lastNumber = number;
    return number;
  }
}

const isDigit = (unit: number | undefined): boolean => unit !== undefined && unit >= ZERO && unit <= NINE;

const isAt = (bytes: Uint8Array, at: number, text: Uint8Array): boolean => {
  for (let nth = 0; nth < text.length; nth += 1) if (bytes[at + nth] !== text[nth]) return false;
  return true;
};
