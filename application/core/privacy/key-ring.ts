import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { StoreUnavailable } from '../../ports/event-store.ts';
import type { KeyStore, WrappedKey } from '../../ports/key-store.ts';
import { RecentValues } from '../memory/recent-values.ts';
import { randomBytes } from '../runtime/random.ts';
import { setImmediate } from '../runtime/timers.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import { KeyPages, type Slot, slotOf } from './key-pages.ts';

/**
 * Seals texts with AES-256-GCM and one data key per owner, such as a message or a person (decisions, section 11), as
 * `v1:<key id>:<base64 of iv, ciphertext and tag>`. Destroying the key makes every copy of the text unreadable.
 */

/** Bytes of a data key. */
const KEY = 32;
/** A data key that only serves to check the master key: unwrapping it with another master key fails. */
const CHECK_KEY = 'platform/check-master';
const MAX_CACHED_KEYS = 5_000;
/** Keys of messages are cached apart, since they are rarely used again and must not evict keys of people. */
const MAX_CACHED_TEXT_KEYS = 5_000;
/** Keys are evicted in bulk, once a cache exceeds its limit by more than this. */
const SLACK = 500;
const RECENT_TEXTS = 500;

/** The key id of a sealed text, as `<tenant>/<kind>-<id>`. */
export const sealedKeyId = (sealed: string): string => sealed.slice(3, sealed.lastIndexOf(':'));

type CachedKey = KeyObject | 'destroyed';

/** Data keys cached in memory over the key store. */
export class KeyRing {
  readonly #store: KeyStore;
  readonly #wrapping: KeyObject;
  readonly #pages: KeyPages;
  readonly #others = new Map<string, CachedKey>();
  readonly #textKeys = new Map<string, CachedKey>();
  readonly #trimming = new Set<Map<string, CachedKey>>();
  /** Keys created here that may not be on disk yet. */
  readonly #unsaved = new Map<string, WrappedKey>();
  /**
   * Recently sealed texts by key id, since new texts are soon opened several times; used only while the key is cached.
   */
  readonly #sealedTexts = new RecentValues<{ readonly sealed: string; readonly text: string }>(RECENT_TEXTS);

  /** @param masterKey the secret `MASTER_KEY`, from which the wrapping key is derived */
  constructor(store: KeyStore, masterKey: string) {
    this.#store = store;
    this.#wrapping = createSecretKey(
      Buffer.from(hkdfSync('sha256', masterKey, '', 'data-key-wrapping', KEY)),
    );
    this.#pages = new KeyPages(store, {
      wrap: (context, plain) => encrypt(this.#wrapping, context, plain),
      unwrap: (context, wrapped) => decrypt(this.#wrapping, context, wrapped),
    });
  }

  /**
   * Takes an unused data key from a stored page; waits only when no page is left.
   * @returns the key's name within the tenant
   * @throws {StoreUnavailable} as a rejection
   */
  async newTextKey(tenantId: string): Promise<string> {
    const { page, slot, key } = await this.#pages.take();
    const name = `message-${page}.${slot}`;
    this.#remember(`${tenantId}/${name}`, secretOf(key));
    return name;
  }

  /** Creates a data key. The caller stores the wrapped key before any text sealed with it. */
  create(id: string): WrappedKey {
    const key = randomBytes(KEY);
    const made = { id, wrapped: encrypt(this.#wrapping, id, key) };
    this.#remember(id, secretOf(key));
    this.#unsaved.set(id, made);
    return made;
  }

  /** The wrapped form of a key created here that may not be on disk yet. */
  unsaved(id: string): WrappedKey | undefined {
    return this.#unsaved.get(id);
  }

  /**
   * Stores keys durably. The store may already have another key with the same id, from another node or destroyed: then
   * that key stays and the new key is dropped. Texts sealed with a dropped key must not be stored.
   * @returns ids of dropped keys
   */
  async persist(keys: readonly WrappedKey[]): Promise<string[]> {
    await this.#store.put(keys);
    const kept = await this.#store.getMany(keys.map((key) => key.id));
    const lost = keys.filter(({ wrapped }, index) => {
      const present = kept[index];
      return !(present instanceof Uint8Array && Buffer.compare(present, wrapped) === 0);
    });
    for (const { id } of keys) this.#unsaved.delete(id);
    for (const { id } of lost) this.forget(id);
    return lost.map(({ id }) => id);
  }

  /**
   * Checks that the key store belongs to this master key. Binds a store that has no check key yet to this master key.
   * @param isNeeded true when the log has events: an empty store is then the wrong store and is left empty
   */
  async openStore(isNeeded: boolean): Promise<'opened' | 'other_master_key' | 'other_store'> {
    try {
      await this.load([CHECK_KEY]);
      if (!this.has(CHECK_KEY)) {
        if (isNeeded && (await this.#isEmpty())) return 'other_store';
        await this.persist([this.create(CHECK_KEY)]);
      }
      await this.load([CHECK_KEY]);
      return this.has(CHECK_KEY) ? 'opened' : 'other_master_key';
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return 'other_master_key';
    }
  }

  async #isEmpty(): Promise<boolean> {
    for await (const _ of this.#store.list()) return false;
    return true;
  }

  has(id: string): boolean {
    return this.#cached(id).has(id);
  }

  /**
   * Loads keys; afterwards {@link has} is false only for keys that never existed. The keys stay in memory at least
   * until the end of the tick in which this resolves.
   */
  async load(ids: readonly string[]): Promise<void> {
    const wanted = new Set(ids);
    let missing: string[] = [];
    for (const id of wanted) {
      const cache = this.#cached(id);
      const key = cache.get(id);
      // Moves a cached key to the end of the eviction order.
      if (key === undefined) missing.push(id);
      else if (cache.delete(id)) cache.set(id, key);
    }
    while (missing.length > 0) {
      await this.#fetch(missing);
      const asked = new Set(missing);
      // Keys in memory may have been evicted during the read.
      missing = [...wanted].filter((id) => !asked.has(id) && !this.has(id));
    }
  }

  async #fetch(missing: readonly string[]): Promise<void> {
    const paged: { id: string; slot: Slot }[] = [];
    const single: string[] = [];
    for (const id of missing) {
      const slot = slotOf(id);
      if (slot === undefined) single.push(id);
      else paged.push({ id, slot });
    }
    // Keeps entries that were cached during the read, since a key may have been destroyed during the read.
    if (paged.length > 0) {
      const keys = await this.#pages.load(paged.map(({ slot }) => slot));
      paged.forEach(({ id }, index) => {
        const key = keys[index];
        if (key !== undefined && !this.#cached(id).has(id)) this.#remember(id, asCached(key));
      });
    }
    if (single.length > 0) {
      const found = await this.#store.getMany(single);
      single.forEach((id, index) => {
        const wrapped = found[index];
        if (wrapped === undefined || this.#cached(id).has(id)) return;
        this.#remember(id, wrapped === 'destroyed' ? wrapped : this.#unwrap(id, wrapped));
      });
    }
  }

  /** Whether a loaded key is destroyed. */
  isDestroyed(id: string): boolean {
    return this.#cached(id).get(id) === 'destroyed';
  }

  /** Seals a text with a loaded key. With a destroyed key it returns a sealed form without the text. */
  seal(id: string, text: string): string {
    const key = this.#cached(id).get(id);
    if (key === undefined) throw new Error('sealing with a key that was not loaded');
    if (key === 'destroyed') return `v1:${id}:`;
    const sealed = `v1:${id}:${encrypt(key, id, text).toString('base64')}`;
    this.#sealedTexts.set(id, { sealed, text });
    return sealed;
  }

  /** Opens a sealed text; undefined when its key is destroyed or never existed. @throws if its bytes were changed */
  async open(sealed: string): Promise<string | undefined> {
    const id = sealedKeyId(sealed);
    if (!this.#cached(id).has(id)) await this.load([id]);
    return this.openLoaded(sealed);
  }

  /** Whether the key of a sealed text is loaded and not destroyed. */
  opens(sealed: string): boolean {
    const id = sealedKeyId(sealed);
    const key = this.#cached(id).get(id);
    return key !== undefined && key !== 'destroyed';
  }

  /** Like {@link open}, but reads no store: also undefined when the key is not loaded. */
  openLoaded(sealed: string): string | undefined {
    const id = sealedKeyId(sealed);
    const key = this.#cached(id).get(id);
    const known = key === undefined || key === 'destroyed' ? undefined : this.#sealedTexts.get(id);
    if (known?.sealed === sealed) return known.text;
    return key === undefined || key === 'destroyed' ? undefined : opened(key, id, sealed);
  }

  /** Destroys a key on disk and in the memory of this process; resolves when neither has it any more. */
  async destroy(id: string): Promise<void> {
    const slot = slotOf(id);
    await (slot === undefined ? this.#store.destroy(id) : this.#pages.destroy(slot));
    this.markDestroyed(id);
  }

  /** Records that this or another node destroyed the key. */
  markDestroyed(id: string): void {
    this.forget(id);
    this.#remember(id, 'destroyed');
  }

  /** Drops a key from memory. */
  forget(id: string): void {
    this.#sealedTexts.delete(id);
    this.#unsaved.delete(id);
    this.#cached(id).delete(id);
  }

  #unwrap(id: string, wrapped: Uint8Array): KeyObject {
    return secretOf(decrypt(this.#wrapping, id, wrapped));
  }

  #cached(id: string): Map<string, CachedKey> {
    return id.includes('/message-') ? this.#textKeys : this.#others;
  }

  #remember(id: string, key: CachedKey): void {
    const cache = this.#cached(id);
    cache.set(id, key);
    const most = cache === this.#textKeys ? MAX_CACHED_TEXT_KEYS : MAX_CACHED_KEYS;
    if (cache.size <= most + SLACK || this.#trimming.has(cache)) return;
    // Evicts in a later tick, since callers may still use keys that they loaded in this tick.
    this.#trimming.add(cache);
    setImmediate(() => {
      this.#trimming.delete(cache);
      for (const oldest of cache.keys()) {
        if (cache.size <= most) return;
        cache.delete(oldest);
      }
    });
  }
}

const opened = (key: KeyObject, id: string, sealed: string): string | undefined => {
  const text = sealed.slice(sealed.lastIndexOf(':') + 1);
  return text === '' ? undefined : decrypt(key, id, Buffer.from(text, 'base64')).toString('utf8');
};

/** Makes a key object from raw bytes and wipes the bytes. */
const secretOf = (bytes: Buffer): KeyObject => {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
};

const asCached = (key: Buffer | 'destroyed'): CachedKey => (key === 'destroyed' ? key : secretOf(key));

/** Shown in place of an erased text. */
export const ERASED = '[erased]';
