/** Values of late by a text, in two generations of so many: the older one goes when the younger is full. */
export class RecentValues<V> {
  readonly #size: number;
  // A Map that one deletes from as one puts in makes a new table again and again, each of which the one before it, long
  // dead and old, keeps alive until the old ones are collected: whatever passed through it grew old.
  #young = new Map<string, V>();
  #old = new Map<string, V>();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    return this.#young.delete(key) || this.#old.delete(key);
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
