/**
 * Data keys of sealed texts (decisions, section 11), one per owner of texts (`Owner`), such as a message or a person.
 * Destroying a key makes every copy of the owner's texts unreadable. A row is a key with id `<tenant>/<kind>-<id>` or a
 * page of keys (application/core/privacy/key-pages.ts), wrapped by a key derived from `MASTER_KEY`; one row is a
 * position in plain text (`MARK` in application/core/privacy/erasures.ts).
 */
export interface KeyStore {
  /** Stores new wrapped keys; resolves when they are on disk. An existing id, destroyed or not, is left unchanged. */
  put(keys: readonly WrappedKey[]): Promise<void>;
  /** In order of `keyIds`: the wrapped key, `destroyed` after {@link destroy}, or undefined for an unknown id. */
  getMany(keyIds: readonly string[]): Promise<(Uint8Array | 'destroyed' | undefined)[]>;
  /** Overwrites the key and keeps a tombstone, so that the id cannot be used again. Safe to repeat. */
  destroy(keyId: string): Promise<void>;
  /**
   * Overwrites a row that still equals `from` with `to`, which has the same length. After this resolves, no file of the
   * store contains `from`. Safe to repeat.
   * @returns false when the row differs, is destroyed, or never existed
   */
  replace(keyId: string, from: Uint8Array, to: Uint8Array): Promise<boolean>;
  /** All rows, including those of destroyed keys, in no order. */
  list(): AsyncIterable<StoredKey>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface StoredKey {
  readonly id: string;
  readonly wrapped: Uint8Array | 'destroyed';
}

export interface WrappedKey {
  readonly id: string;
  readonly wrapped: Uint8Array;
}
