/** What caches may hold together. */
export interface Bounds {
  readonly maxCount: number;
  readonly maxBytes: number;
}

interface Entry {
  readonly key: string;
  value: unknown;
  bytes: number;
  asked: boolean;
  /** Of the cache that it is in. */
  readonly entries: Map<string, Entry>;
  readonly dropped: (key: string) => void;
  before: Entry | undefined;
  after: Entry | undefined;
}

/**
 * Room that one cache has, or several share, bounded by count and by rough size. Where it is full the oldest entries go,
 * but one that was asked for since it was last looked at is spared once: a flood of entries that nobody asks for again
 * does not push out the others.
 *
 * The line is chained by hand. The order of a Map would do, but an iterator that stands still over one keeps each table
 * that the map has outgrown alive, with all that was ever deleted from it.
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

  /** Of all entries, roughly. */
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

  /** Lets entries go until all are within the bounds; the last one stays, however big it is. */
  trim(): void {
    while (this.#count > 1 && (this.#count > this.#maxCount || this.#bytes > this.#maxBytes)) {
      const entry = this.#oldest;
      if (entry === undefined) return;
      if (entry.asked) {
        // To the end of the line: its turn comes again only when all others were spared or went.
        entry.asked = false;
        this.#unlink(entry);
        this.#append(entry);
        continue;
      }
      this.leave(entry);
      entry.entries.delete(entry.key);
      entry.dropped(entry.key);
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
    // A dead one that has grown old would keep those after it alive until the old ones are collected.
    entry.before = undefined;
    entry.after = undefined;
  }
}

/** A cache with room of its own, or within room that it shares with others. */
export class BoundedCache<V> {
  readonly #entries = new Map<string, Entry>();
  readonly #room: CacheBudget;
  readonly #dropped: (key: string) => void;

  /** @param dropped told of keys that went for want of room */
  constructor(room: CacheBudget | Bounds, dropped: (key: string) => void = () => undefined) {
    this.#room = room instanceof CacheBudget ? room : new CacheBudget(room);
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Of all that is in its room, roughly. */
  get bytes(): number {
    return this.#room.bytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.asked = true;
    // Only `set` puts entries into this map.
    return entry.value as V;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  set(key: string, value: V): void {
    const bytes = PER_ENTRY + key.length + roughBytes(value);
    const present = this.#entries.get(key);
    if (present !== undefined) {
      this.#room.weigh(present, bytes);
      present.value = value;
      present.asked = true;
      return;
    }
    const dropped = this.#dropped;
    const links = { before: undefined, after: undefined };
    const entry: Entry = { key, value, bytes, asked: false, entries: this.#entries, dropped, ...links };
    this.#entries.set(key, entry);
    this.#room.enter(entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#room.leave(entry);
  }

  clear(): void {
    for (const entry of this.#entries.values()) this.#room.leave(entry);
    this.#entries.clear();
  }

  /** Lets entries of its room go, whichever cache's they are, until all are within the bounds. */
  trim(): void {
    this.#room.trim();
  }
}

/** An entry's own fields, its place in the map, and the header of its key. */
export const PER_ENTRY = 128;
const PER_VALUE = 16;
/** Of a long list so many elements stand for all. */
const SAMPLE = 64;

/** About how much memory a plain JSON-like value takes. */
export const roughBytes = (value: unknown): number => {
  if (typeof value === 'string') return PER_VALUE + value.length * 2;
  if (typeof value !== 'object' || value === null) return PER_VALUE;
  if (Array.isArray(value)) {
    const sample = value.length <= SAMPLE ? value : value.slice(0, SAMPLE);
    let bytes = 0;
    for (const element of sample) bytes += roughBytes(element);
    return PER_VALUE + (sample.length === 0 ? 0 : (bytes / sample.length) * value.length);
  }
  if (value instanceof Map || value instanceof Set) return PER_VALUE + roughBytes([...value.values()]);
  let bytes = PER_VALUE;
  for (const key in value) bytes += PER_VALUE + roughBytes(value[key as keyof typeof value]);
  return bytes;
};
