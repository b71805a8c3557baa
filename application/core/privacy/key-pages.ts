import type { KeyStore } from '../../ports/key-store.ts';
import { randomBytes, randomUUID } from '../runtime/random.ts';

/**
 * A page of random data keys is stored as one row before any of its keys is used, so that a message needs no key write
 * (docs/decisions/0009-key-pages.md). A key is named `<page>.<slot>`; destroying it overwrites its slot with zeros.
 */

/** Keys per page. */
export const SLOTS = 128;

/** Bytes of a key. */
const KEY = 32;
/** Pages stored in one write. */
const PAGES_AT_ONCE = 8;
/** New pages are made when fewer than this are left besides the current page. */
const LOW = 2;
const REPLACE_TRIES = 100;

/** The place of a key. */
export interface Slot {
  readonly page: string;
  readonly slot: number;
}

const FORM = /\/message-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([0-9]{1,3})$/;

/** Parses a key id `<tenant>/message-<page>.<slot>`; undefined for any other id. */
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

/** Encryption of pages by the master key. */
export interface Wrapping {
  wrap(context: string, plain: Uint8Array): Uint8Array;
  /** @throws when the page was wrapped with another key, or its bytes were changed */
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
   * Returns an unused key that is already on disk; a promise only when no page is left.
   * @throws {StoreUnavailable} as a rejection
   */
  take(): (Slot & { key: Buffer }) | Promise<Slot & { key: Buffer }> {
    if (this.#current === undefined || this.#current.next >= SLOTS) {
      this.#current = this.#following.shift();
      // After a failure, the next call that needs a page tries again.
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
      keys: randomBytes(SLOTS * KEY),
      next: 0,
    }));
    await this.#store.put(
      pages.map(({ id, keys }) => ({ id: rowOf(id), wrapped: this.#wrapping.wrap(rowOf(id), keys) })),
    );
    this.#following.push(...pages);
  }

  /** Returns keys in the order of `slots`; `destroyed` for an empty slot or a missing page. */
  async load(slots: readonly Slot[]): Promise<(Buffer | 'destroyed')[]> {
    const ids = [...new Set(slots.map(({ page }) => page))];
    const rows = await this.#store.getMany(ids.map(rowOf));
    const pages = new Map<string, Buffer>();
    try {
      for (const [index, id] of ids.entries()) {
        const row = rows[index];
        if (row instanceof Uint8Array) pages.set(id, this.#wrapping.unwrap(rowOf(id), row));
      }
      return slots.map(({ page, slot }) => keyAt(pages.get(page), slot));
    } finally {
      // Wipes the pages; the returned keys are copies.
      for (const page of pages.values()) page.fill(0);
    }
  }

  /** Overwrites a key permanently. Safe to repeat; other nodes may destroy keys of the same page at the same time. */
  async destroy({ page, slot }: Slot): Promise<void> {
    // One key of a page at a time in this process, so that `replace` fails only because of other nodes.
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

/** Copies the key of a slot; `destroyed` for an empty slot or a missing page. */
const keyAt = (page: Buffer | undefined, slot: number): Buffer | 'destroyed' => {
  const key = page?.subarray(slot * KEY, (slot + 1) * KEY);
  return key === undefined || key.every((byte) => byte === 0) ? 'destroyed' : Buffer.from(key);
};
