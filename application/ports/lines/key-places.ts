/** Where the keys of sealed texts lie, read from the bytes of the texts. */

/** A place of a text whose key lies elsewhere, or that is no sealed text. */
export const NO_PAGE = 0xffffffff;
/** Slots of a page. */
export const SLOTS = 128;

/** What a text begins with. One that has another colon is looked for by its key id, which goes up to the last one. */
const FORM = /^v1:([^:]*\/message-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,3}):/;
/** More than that is not read to find the form: a tenant's id is shorter. */
const MOST_BYTES = 256;
const MOST_DIGITS = 3;
const VERSION = 3;
const COLON = 0x3a;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;

/** An export asks it for each text, and of erased ones needs no more than that their keys are gone. */
export class KeyPlaces {
  /** `<tenant>/message-<page>`, each once. */
  #pages: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** What texts begin with up to their pages, by the last four of these bytes, and how long the last one was. */
  readonly #known = new Map<number, { readonly bytes: Uint8Array; readonly number: number }>();
  #length = 0;
  /** Of the text that {@link find} was asked for last. */
  page = NO_PAGE;
  slot = 0;

  begin(): void {
    this.#pages = [];
    this.#numbers.clear();
    this.#known.clear();
  }

  /** All pages since the beginning, by their numbers. */
  get pages(): readonly string[] {
    return this.#pages;
  }

  /** Sets `page`, to {@link NO_PAGE} where there is none, and `slot`. */
  find(bytes: Buffer, from: number, to: number): void {
    const known = this.#formOfKnown(bytes, from, to);
    const end = known < 0 ? this.#formOf(bytes, from, to) : known;
    const another = end < 0 ? -1 : bytes.indexOf(COLON, end);
    if (end < 0 || (another >= 0 && another < to)) this.page = NO_PAGE;
  }

  /** @returns where the form ends; -1 for another one */
  #formOf(bytes: Buffer, from: number, to: number): number {
    const beginning = bytes.toString('utf8', from, Math.min(to, from + MOST_BYTES));
    const [form = '', page, digits] = FORM.exec(beginning) ?? [];
    const slot = Number(digits);
    if (page === undefined || !(slot < SLOTS)) return -1;
    let number = this.#numbers.get(page);
    if (number === undefined) {
      number = this.#pages.push(page) - 1;
      this.#numbers.set(page, number);
    }
    this.page = number;
    this.slot = slot;
    this.#length = VERSION + Buffer.byteLength(page);
    const end = from + this.#length;
    this.#known.set(lastFour(bytes, end), {
      bytes: Uint8Array.prototype.slice.call(bytes, from, end),
      number,
    });
    return from + Buffer.byteLength(form);
  }

  /** As {@link #formOf}, of a page that is known: a fifth of what the expression takes. */
  #formOfKnown(bytes: Buffer, from: number, to: number): number {
    let at = from + this.#length;
    if (at >= to || bytes[at] !== DOT) return -1;
    const known = this.#known.get(lastFour(bytes, at));
    if (known === undefined || known.bytes.length !== this.#length) return -1;
    for (let nth = 0; nth < known.bytes.length; nth += 1)
      if (bytes[from + nth] !== known.bytes[nth]) return -1;
    let slot = 0;
    let digits = 0;
    for (at += 1; isDigit(bytes[at]); at += 1, digits += 1) slot = slot * 10 + (bytes[at] ?? 0) - ZERO;
    if (digits < 1 || digits > MOST_DIGITS || slot >= SLOTS || at >= to || bytes[at] !== COLON) return -1;
    this.page = known.number;
    this.slot = slot;
    return at + 1;
  }
}

const lastFour = (bytes: Uint8Array, end: number): number =>
  ((bytes[end - 4] ?? 0) << 24) |
  ((bytes[end - 3] ?? 0) << 16) |
  ((bytes[end - 2] ?? 0) << 8) |
  (bytes[end - 1] ?? 0);

const isDigit = (unit: number | undefined): boolean => unit !== undefined && unit >= ZERO && unit <= NINE;
