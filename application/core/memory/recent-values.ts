/** Caches recent values in a young and an old map, each of at most `size` entries. A full young map becomes the old. */
export class RecentValues<V> {
  readonly #size: number;
  // Two Maps, since one Map with a delete per insert would rehash often, and its discarded tables retain each other
  // until a full collection.
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** @returns whether the key was cached */
  delete(key: string): boolean {
    const wasOld = this.#old.delete(key);
    return this.#young.delete(key) || wasOld;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
