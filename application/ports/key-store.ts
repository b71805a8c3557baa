/**
 * Data keys for sealed texts (decisions, section 11): one per message, one per person. Destroying a key makes
 * every copy of the text unreadable, wherever it was copied.
 *
 * A row is a key, under its id `<tenant>/<kind>-<id>` (e.g. `acme/person-0190…`), or a page of keys
 * (application/core/privacy/key-pages.ts). Rows are stored wrapped by `MASTER_KEY`.
 */
export interface KeyStore {
  /**
   * Stores new wrapped keys durably; an id that exists already, destroyed or not, is left as it is.
   * Resolves when they are on disk.
   */
  put(keys: readonly WrappedKey[]): Promise<void>;
  /** In the order asked: the wrapped key; `destroyed` after {@link destroy}; undefined when it never existed. */
  getMany(keyIds: readonly string[]): Promise<(Uint8Array | 'destroyed' | undefined)[]>;
  /** Overwrites the key and keeps a tombstone, so that it cannot be made again. Safe to repeat. */
  destroy(keyId: string): Promise<void>;
  /**
   * Overwrites a row with another of the same length, if it still is `from`; nothing of `from` is left in the store's
   * files when this resolves. Safe to repeat.
   * @returns false when the row is another one by now, or destroyed, or was never there
   */
  replace(keyId: string, from: Uint8Array, to: Uint8Array): Promise<boolean>;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface WrappedKey {
  readonly id: string;
  readonly wrapped: Uint8Array;
}
