import { randomFillSync, randomUUID } from 'node:crypto';
import type { KeyStore } from './ports/key-store.ts';
import { SLOTS } from './ports/lines/key-places.ts';

/**
 * Data keys of texts come from pages: a page is made of many random keys and stored as one row before any of them is
 * used, so that a message costs no write of its own and waits for none (docs/decisions/0009-key-pages.md). A key is
 * `<page>.<slot>`; destroying one overwrites its slot with zeros.
 */

export { SLOTS };

/** 4 KiB a page, with {@link SLOTS}. */
const KEY = 32;
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

const FORM = /\/message-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,3})$/;

/** The slot that a key id of the form `<tenant>/message-<page>.<slot>` names; `KeyPlaces` reads it from bytes. */
export const slotOf = (keyId: string): Slot | undefined => {
  const [, page, digits] = FORM.exec(keyId) ?? [];
  const slot = Number(digits);
  return page !== undefined && slot < SLOTS ? { page, slot } : undefined;
};

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

/** Keys of pages, by the pages' places in the question. */
export class OpenedPages {
  readonly #pages: readonly (Buffer | undefined)[];

  constructor(pages: readonly (Buffer | undefined)[]) {
    this.#pages = pages;
  }

  /** Whether the slot is empty, or its page is not there. */
  isGone(page: number, slot: number): boolean {
    const keys = this.#pages[page];
    if (keys === undefined) return true;
    for (let at = slot * KEY; at < (slot + 1) * KEY; at += 1) if (keys[at] !== 0) return false;
    return true;
  }

  /** A copy; undefined when it {@link isGone}. */
  keyAt(page: number, slot: number): Buffer | undefined {
    const keys = this.#pages[page];
    if (keys === undefined || this.isGone(page, slot)) return undefined;
    return Buffer.from(keys.subarray(slot * KEY, (slot + 1) * KEY));
  }

  /** Wipes them. */
  close(): void {
    for (const keys of this.#pages) keys?.fill(0);
  }
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
    const opened = await this.open(pages);
    const numbers = new Map(pages.map((page, number) => [page, number]));
    try {
      return slots.map(({ page, slot }) => opened.keyAt(numbers.get(page) ?? -1, slot) ?? 'destroyed');
    } finally {
      opened.close();
    }
  }

  /** To be closed in the turn in which they come: nothing keeps keys that are not in use. */
  async open(pages: readonly string[]): Promise<OpenedPages> {
    const rows = await this.#store.getMany(pages.map(rowOf));
    const opened: (Buffer | undefined)[] = [];
    try {
      for (const [index, row] of rows.entries()) {
        const isThere = row instanceof Uint8Array;
        opened.push(isThere ? this.#wrapping.unwrap(rowOf(pages[index] ?? ''), row) : undefined);
      }
    } catch (error) {
      new OpenedPages(opened).close();
      throw error;
    }
    return new OpenedPages(opened);
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
