/** A new table after so many additions for each entry that is there, and not before so many. */
const RENEWED_AFTER = 64;
const PER_ENTRY = 2;

/**
 * A Map of what comes and goes. A plain one makes a table anew again and again while one deletes from it as one puts in,
 * and each table points to the next one. Once one of them has grown old for the garbage collector, which at the next full
 * collection it has, it keeps all that come after it alive, and with them whatever went through the map: until the
 * next full collection, when the same begins anew. This one takes a plain one that nothing points to every now and then.
 *
 * Iterators are those of the present table: what is put in, and then what is taken out, they may not see.
 */
export class TransientMap<K, V> {
  #map = new Map<K, V>();
  /** Additions that are left to the present table. */
  #left = RENEWED_AFTER;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): this {
    if (this.#left === 0) {
      this.#map = new Map(this.#map);
      this.#left = Math.max(RENEWED_AFTER, PER_ENTRY * this.#map.size);
    }
    this.#left -= 1;
    this.#map.set(key, value);
    return this;
  }

  /** @returns whether it was there */
  delete(key: K): boolean {
    return this.#map.delete(key);
  }

  clear(): void {
    this.#map = new Map();
    this.#left = RENEWED_AFTER;
  }

  keys(): MapIterator<K> {
    return this.#map.keys();
  }

  values(): MapIterator<V> {
    return this.#map.values();
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }
}

/** As {@link TransientMap}, a Set. */
export class TransientSet<T> {
  readonly #values = new TransientMap<T, true>();

  get size(): number {
    return this.#values.size;
  }

  has(value: T): boolean {
    return this.#values.has(value);
  }

  add(value: T): this {
    this.#values.set(value, true);
    return this;
  }

  /** @returns whether it was there */
  delete(value: T): boolean {
    return this.#values.delete(value);
  }

  clear(): void {
    this.#values.clear();
  }

  [Symbol.iterator](): MapIterator<T> {
    return this.#values.keys();
  }
}
