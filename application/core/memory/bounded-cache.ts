/** The bounds of a cache budget. */
export interface Bounds {
  readonly maxCount: number;
  readonly maxBytes: number;
}

interface Entry {
  readonly key: string;
  value: unknown;
  bytes: number;
  wasRead: boolean;
  /** The map of the cache that holds this entry. */
  readonly entries: Map<string, Entry>;
  readonly onEvict: (key: string) => void;
  before: Entry | undefined;
  after: Entry | undefined;
}

/**
 * Bounds one cache, or several caches together, by count and approximate bytes. Evicts the oldest entry, or moves it to
 * the end if it was read or set again since its last check (second chance). So entries that are never used do not evict
 * entries in use. The entries form a linked list, since an open Map iterator retains the outgrown tables of its Map.
 */
export class CacheBudget {
  readonly #maxCount: number;
  readonly #maxBytes: number;
  #oldest: Entry | undefined;
  #newest: Entry | undefined;
  #count = 0;
  #bytes = 0;

  constructor({ maxCount, maxBytes }: Bounds) {
    this.#maxCount = maxCount;
    this.#maxBytes = maxBytes;
  }

  /** Approximate bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  enter(entry: Entry): void {
    this.#count += 1;
    this.#bytes += entry.bytes;
    this.#append(entry);
  }

  leave(entry: Entry): void {
    this.#count -= 1;
    this.#bytes -= entry.bytes;
    this.#unlink(entry);
  }

  weigh(entry: Entry, bytes: number): void {
    this.#bytes += bytes - entry.bytes;
    entry.bytes = bytes;
  }

  /** Evicts entries until the rest is within the bounds; keeps the last entry, whatever its size. */
  trim(): void {
    while (this.#count > 1 && (this.#count > this.#maxCount || this.#bytes > this.#maxBytes)) {
      const entry = this.#oldest;
      if (entry === undefined) return;
      if (entry.wasRead) {
        // Moves the entry to the end, to be checked again after all others.
        entry.wasRead = false;
        this.#unlink(entry);
        this.#append(entry);
        continue;
      }
      this.leave(entry);
      entry.entries.delete(entry.key);
      entry.onEvict(entry.key);
    }
  }

  #append(entry: Entry): void {
    entry.before = this.#newest;
    entry.after = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.after = entry;
    this.#newest = entry;
  }

  #unlink(entry: Entry): void {
    if (entry.before === undefined) this.#oldest = entry.after;
    else entry.before.after = entry.after;
    if (entry.after === undefined) this.#newest = entry.before;
    else entry.after.before = entry.before;
    // A stale link in an entry of V8's old generation would retain the entries after it.
    entry.before = undefined;
    entry.after = undefined;
  }
}

/** A cache with its own budget, or with a budget that it shares with other caches. */
export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry>();
  readonly #budget: CacheBudget;
  readonly #onEvict: (key: string) => void;

  constructor(budget: CacheBudget | Bounds, onEvict: (key: string) => void = () => undefined) {
    this.#budget = budget instanceof CacheBudget ? budget : new CacheBudget(budget);
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Approximate bytes of all caches in the budget. */
  get bytes(): number {
    return this.#budget.bytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.wasRead = true;
    // Only `set` adds entries to this map.
    return entry.value as V;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  set(key: string, value: V): void {
    const bytes = PER_ENTRY + key.length + roughBytes(value);
    const present = this.#entries.get(key);
    if (present !== undefined) {
      this.#budget.weigh(present, bytes);
      present.value = value;
      present.wasRead = true;
      return;
    }
    const onEvict = this.#onEvict;
    const links = { before: undefined, after: undefined };
    const entry: Entry = { key, value, bytes, wasRead: false, entries: this.#entries, onEvict, ...links };
    this.#entries.set(key, entry);
    this.#budget.enter(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#budget.leave(entry);
  }

  clear(): void {
    for (const entry of this.#entries.values()) this.#budget.leave(entry);
    this.#entries.clear();
  }

  /** Evicts entries of all caches in the budget until the caches together are within its bounds. */
  trim(): void {
    this.#budget.trim();
  }
}

/** Bytes of an entry's own fields, of its place in the map, and of its key's header. */
export const PER_ENTRY = 128;
const PER_VALUE = 16;
/** A longer array or object is estimated from this many elements. */
const SAMPLE = 64;

/** The approximate memory (bytes) of a JSON-like value or a typed array. */
export const roughBytes = (value: unknown): number => {
  if (typeof value === 'string') return PER_VALUE + value.length * 2;
  if (typeof value !== 'object' || value === null) return PER_VALUE;
  if (ArrayBuffer.isView(value)) return PER_VALUE + value.byteLength;
  if (Array.isArray(value)) {
    const sample = value.length <= SAMPLE ? value : value.slice(0, SAMPLE);
    let bytes = 0;
    for (const element of sample) bytes += roughBytes(element);
    return PER_VALUE + (sample.length === 0 ? 0 : (bytes / sample.length) * value.length);
  }
  if (value instanceof Map || value instanceof Set) return PER_VALUE + roughBytes([...value.values()]);
  let bytes = PER_VALUE;
  let members = 0;
  for (const key in value) {
    if (members === SAMPLE) return (bytes / SAMPLE) * Object.keys(value).length;
    members += 1;
    bytes += PER_VALUE + roughBytes(value[key as keyof typeof value]);
  }
  return bytes;
};
