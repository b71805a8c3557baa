import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import { StoreUnavailable } from '../../ports/event-store.ts';
import type { KeyStore, WrappedKey } from '../../ports/key-store.ts';
import { decrypt, encrypt } from './aes-gcm.ts';
import { KeyPages, type Slot, slotOf } from './key-pages.ts';

/**
 * Sealing of personal texts (decisions, section 11): AES-256-GCM with a data key per message or person; data keys
 * are wrapped by `MASTER_KEY`. A sealed text reads `v1:<key id>:<base64 of iv, ciphertext and tag>` and may be
 * copied anywhere: when the key is destroyed, every copy is unreadable.
 */

const KEY = 32;
/** A data key that seals nothing: whether it can be unwrapped tells whether the master key is the right one. */
const CHECK_KEY = 'platform/check-master';
const MAX_CACHED_KEYS = 5_000;
/** Keys of texts are used when the text is new, and seldom after: they must not push out those of people. */
const MAX_CACHED_TEXT_KEYS = 5_000;
/** Keys are let go of together, once so many are too many. */
const SLACK = 500;
const MAX_SEALED_TEXTS = 1_000;

/** The key id of a sealed text, as `<tenant>/<kind>-<id>`. */
export const sealedKeyId = (sealed: string): string => sealed.slice(3, sealed.lastIndexOf(':'));

type CachedKey = KeyObject | 'destroyed';

/** Data keys in memory, backed by the key store. */
export class KeyRing {
  readonly #store: KeyStore;
  readonly #wrapping: KeyObject;
  readonly #pages: KeyPages;
  readonly #others = new Map<string, CachedKey>();
  readonly #textKeys = new Map<string, CachedKey>();
  readonly #trimming = new Set<Map<string, CachedKey>>();
  /** Keys made here that are not known to be on disk. */
  readonly #unsaved = new Map<string, WrappedKey>();
  /**
   * Texts sealed a moment ago, by key id: the answer, the fan-out and the notifier ask for the same text at once.
   * Goes with its key.
   */
  readonly #sealedTexts = new Map<string, { readonly sealed: string; readonly text: string }>();

  /** @param masterKey the secret `MASTER_KEY`; the wrapping key is derived from it */
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
   * A new data key for one text, on disk already. At once, but for the first and whenever keys run out.
   * @returns its name within the tenant
   * @throws {StoreUnavailable} as a rejection
   */
  newTextKey(tenantId: string): string | Promise<string> {
    const taken = this.#pages.take();
    return taken instanceof Promise
      ? taken.then((slot) => this.#textKey(tenantId, slot))
      : this.#textKey(tenantId, taken);
  }

  #textKey(tenantId: string, { page, slot, key }: Slot & { key: Buffer }): string {
    const name = `message-${page}.${slot}`;
    this.#remember(`${tenantId}/${name}`, secretOf(key));
    return name;
  }

  /** A new data key, usable at once; the caller stores the wrapped form before anything sealed with it. */
  create(id: string): WrappedKey {
    const key = randomBytes(KEY);
    const made = { id, wrapped: encrypt(this.#wrapping, id, key) };
    this.#remember(id, secretOf(key));
    this.#unsaved.set(id, made);
    return made;
  }

  /** The wrapped form of a key that was made here and is not known to be on disk. */
  unsaved(id: string): WrappedKey | undefined {
    return this.#unsaved.get(id);
  }

  /**
   * Makes keys durable; resolves when they are on disk. Where another node was faster, or the key was destroyed, the
   * store keeps what it has, and the key made here is forgotten: nothing sealed with it may be kept.
   * @returns ids of such keys
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
   * True when the key store was begun with this master key (or is begun now). With another one, everything written
   * from here on would be sealed under a key that nobody will look for.
   */
  async opensStore(): Promise<boolean> {
    try {
      await this.load([CHECK_KEY]);
      if (!this.has(CHECK_KEY)) await this.persist([this.create(CHECK_KEY)]);
      await this.load([CHECK_KEY]);
      return this.has(CHECK_KEY);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return false;
    }
  }

  has(id: string): boolean {
    return this.#cached(id).has(id);
  }

  /**
   * Brings existing keys into memory; afterwards {@link has} is false for those that never existed. They stay there at
   * least until whoever asked has used them in the same turn.
   */
  async load(ids: readonly string[]): Promise<void> {
    const wanted = [...new Set(ids)];
    let missing = wanted.filter((id) => !this.has(id));
    while (missing.length > 0) {
      await this.#fetch(missing);
      const asked = new Set(missing);
      // What was in memory may have been let go of while the store was asked for the rest.
      missing = wanted.filter((id) => !asked.has(id) && !this.has(id));
    }
    for (const id of wanted) {
      const cache = this.#cached(id);
      const key = cache.get(id);
      // What was asked for is let go of last.
      if (key !== undefined && cache.delete(id)) cache.set(id, key);
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
    // What happened while the store was asked counts: above all a key that was destroyed meanwhile stays so.
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

  /** Of a key that was loaded: nothing can be opened with it any more. */
  isDestroyed(id: string): boolean {
    return this.#cached(id).get(id) === 'destroyed';
  }

  /** Seals with a key that is in memory; with a destroyed one the text is not kept at all. */
  seal(id: string, text: string): string {
    const key = this.#cached(id).get(id);
    if (key === undefined) throw new Error('sealing with a key that was not loaded');
    if (key === 'destroyed') return `v1:${id}:`;
    const sealed = `v1:${id}:${encrypt(key, id, text).toString('base64')}`;
    this.#sealedTexts.set(id, { sealed, text });
    if (this.#sealedTexts.size > MAX_SEALED_TEXTS) {
      const oldest = this.#sealedTexts.keys().next().value;
      if (oldest !== undefined) this.#sealedTexts.delete(oldest);
    }
    return sealed;
  }

  /** The text, or undefined when its key is gone. */
  async open(sealed: string): Promise<string | undefined> {
    const id = sealedKeyId(sealed);
    if (!this.#cached(id).has(id)) await this.load([id]);
    return this.openLoaded(sealed);
  }

  /** Whether the key of a sealed text is in memory, and not destroyed. */
  opens(sealed: string): boolean {
    const id = sealedKeyId(sealed);
    const key = this.#cached(id).get(id);
    return key !== undefined && key !== 'destroyed';
  }

  /** As {@link open}, for a key that {@link load} was asked for before. */
  openLoaded(sealed: string): string | undefined {
    const id = sealedKeyId(sealed);
    const key = this.#cached(id).get(id);
    const known = key === undefined || key === 'destroyed' ? undefined : this.#sealedTexts.get(id);
    if (known?.sealed === sealed) return known.text;
    return key === undefined || key === 'destroyed' ? undefined : opened(key, id, sealed);
  }

  /** Overwrites the key on disk and in memory; resolves when it cannot be had any more. */
  async destroy(id: string): Promise<void> {
    const slot = slotOf(id);
    await (slot === undefined ? this.#store.destroy(id) : this.#pages.destroy(slot));
    this.markDestroyed(id);
  }

  /** The log says that this key is gone: nothing is opened with it here from now on. */
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
    // Not at once: others have loaded keys in this turn that they are about to use.
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

/** The key object of raw bytes, which are wiped. */
const secretOf = (bytes: Buffer): KeyObject => {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
};

const asCached = (key: Buffer | 'destroyed'): CachedKey => (key === 'destroyed' ? key : secretOf(key));

/** What stands where an erased text stood. */
export const ERASED = '[erased]';
