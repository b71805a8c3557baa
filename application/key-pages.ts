import { randomFillSync, randomUUID } from 'node:crypto';
import type { KeyStore } from './ports/key-store.ts';

/**
 * Data keys of texts come from pages: a page is made of many random keys and stored as one row before any of them is
 * used, so that a message costs no write of its own and waits for none (docs/decisions/0009-key-pages.md). A key is
 * `<page>.<slot>`; destroying one overwrites its slot with zeros.
 */

const KEY = 32;
/** 4 KiB a page. */
export const SLOTS = 128;
/** So many pages go to disk together. */
const PAGES_AT_ONCE = 8;
/** With no more pages than these left, new ones are made. */
const LOW = 2;
const REPLACE_TRIES = 100;

/** Where a key lies. */
export interface Slot {
  readonly page: string;
  readonly slot: number;
}

const BEFORE_PAGE = '/message-';
/** Of a page's id. */
const UUID = 36;
const MOST_DIGITS = 3;
const ZERO = 0x30;
const NINE = 0x39;
const HYPHEN = 0x2d;
const DOT = 0x2e;
const LETTER_A = 0x61;
const LETTER_F = 0x66;

/**
 * The slot that a key id of the form `<tenant>/message-<page>.<slot>` names, read from its end: an export asks it for each
 * text, and an expression takes longer.
 */
export const slotOf = (keyId: string): Slot | undefined => {
  let dot = keyId.length - 1;
  while (dot >= 0 && isDigit(keyId.charCodeAt(dot))) dot -= 1;
  const digits = keyId.length - 1 - dot;
  const at = dot - UUID;
  if (digits < 1 || digits > MOST_DIGITS || keyId.charCodeAt(dot) !== DOT) return undefined;
  if (at < BEFORE_PAGE.length || !keyId.startsWith(BEFORE_PAGE, at - BEFORE_PAGE.length)) return undefined;
  for (let nth = 0; nth < UUID; nth += 1) {
    const unit = keyId.charCodeAt(at + nth);
    const isHyphen = nth === 8 || nth === 13 || nth === 18 || nth === 23;
    if (isHyphen ? unit !== HYPHEN : !isDigit(unit) && (unit < LETTER_A || unit > LETTER_F)) return undefined;
  }
  let slot = 0;
  for (let nth = dot + 1; nth < keyId.length; nth += 1) slot = slot * 10 + keyId.charCodeAt(nth) - ZERO;
  return slot < SLOTS ? { page: keyId.slice(at, dot), slot } : undefined;
};

const isDigit = (unit: number): boolean => unit >= ZERO && unit <= NINE;

const rowOf = (page: string): string => `page:${page}`;

interface Page {
  readonly id: string;
  readonly keys: Buffer;
  next: number;
}

/** How a page is wrapped by the master key. */
export interface Wrapping {
  wrap(context: string, plain: Uint8Array): Uint8Array;
  /** @throws when it was wrapped with another key, or changed */
  unwrap(context: string, wrapped: Uint8Array): Buffer;
}

export class KeyPages {
  readonly #store: KeyStore;
  readonly #wrapping: Wrapping;
  #current: Page | undefined;
  #following: Page[] = [];
  #making: Promise<void> | undefined;
  readonly #destroying = new Map<string, Promise<void>>();

  constructor(store: KeyStore, wrapping: Wrapping) {
    this.#store = store;
    this.#wrapping = wrapping;
  }

  /**
   * A key that nobody has used, on disk already. At once while the page lasts, which is nearly always.
   * @throws {StoreUnavailable} as a rejection
   */
  take(): (Slot & { key: Buffer }) | Promise<Slot & { key: Buffer }> {
    if (this.#current === undefined || this.#current.next >= SLOTS) {
      this.#current = this.#following.shift();
      // A failure shows when a page is needed, and is then tried again.
      if (this.#following.length < LOW) this.#make().catch(() => undefined);
    }
    const page = this.#current;
    if (page === undefined) return this.#make().then(() => this.take());
    const slot = page.next;
    page.next += 1;
    const at = slot * KEY;
    const key = Buffer.from(page.keys.subarray(at, at + KEY));
    page.keys.fill(0, at, at + KEY);
    return { page: page.id, slot, key };
  }

  #make(): Promise<void> {
    this.#making ??= this.#add().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #add(): Promise<void> {
    const pages = Array.from({ length: PAGES_AT_ONCE }, () => ({
      id: randomUUID(),
      keys: randomFillSync(Buffer.allocUnsafe(SLOTS * KEY)),
      next: 0,
    }));
    await this.#store.put(
      pages.map(({ id, keys }) => ({ id: rowOf(id), wrapped: this.#wrapping.wrap(rowOf(id), keys) })),
    );
    this.#following.push(...pages);
  }

  /** In the order asked: the key; `destroyed` when its slot is empty or its page is not there. */
  async load(slots: readonly Slot[]): Promise<(Buffer | 'destroyed')[]> {
    const pages = [...new Set(slots.map(({ page }) => page))];
    const rows = await this.#store.getMany(pages.map(rowOf));
    const opened = new Map<string, Buffer>();
    rows.forEach((row, index) => {
      const page = pages[index];
      if (page === undefined || !(row instanceof Uint8Array)) return;
      opened.set(page, this.#wrapping.unwrap(rowOf(page), row));
    });
    const keys = slots.map(({ page, slot }) => {
      const key = opened.get(page)?.subarray(slot * KEY, (slot + 1) * KEY);
      return key === undefined || isEmpty(key) ? 'destroyed' : Buffer.from(key);
    });
    for (const keysOfPage of opened.values()) keysOfPage.fill(0);
    return keys;
  }

  /** Overwrites a key for good. Safe to repeat; other nodes may destroy others of the page at the same time. */
  async destroy({ page, slot }: Slot): Promise<void> {
    // One at a time here, so that only other nodes are raced with.
    const before = this.#destroying.get(page);
    const mine = (async () => {
      await before?.catch(() => undefined);
      await this.#overwrite(rowOf(page), slot);
    })();
    this.#destroying.set(page, mine);
    try {
      await mine;
    } finally {
      if (this.#destroying.get(page) === mine) this.#destroying.delete(page);
    }
  }

  async #overwrite(id: string, slot: number): Promise<void> {
    for (let tries = 0; tries < REPLACE_TRIES; tries += 1) {
      const [row] = await this.#store.getMany([id]);
      if (!(row instanceof Uint8Array)) return;
      const keys = this.#wrapping.unwrap(id, row);
      keys.fill(0, slot * KEY, (slot + 1) * KEY);
      const without = this.#wrapping.wrap(id, keys);
      keys.fill(0);
      if (await this.#store.replace(id, row, without)) return;
    }
    throw new Error('a page of data keys changed too often to be written');
  }
}

const isEmpty = (key: Uint8Array): boolean => key.every((byte) => byte === 0);
