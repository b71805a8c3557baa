/**
 * A cache bounded by count and by rough size. Where it is full the oldest entries go, but one that was asked for since it
 * was last looked at is spared once: a flood of entries that nobody asks for again does not push out the others.
 */
export class WeighedCache<V> {
  readonly #entries = new Map<string, { value: V; bytes: number; asked: boolean }>();
  /**
   * Stands before the oldest entry: all that it came by went, or to the end. A walk from the beginning would come by
   * the places of thousands that went before.
   */
  #walk = this.#entries.entries();
  readonly #maxCount: number;
  readonly #maxBytes: number;
  readonly #dropped: (key: string) => void;
  #bytes = 0;

  /** @param dropped told of keys that went for want of room */
  constructor(
    bounds: { readonly maxCount: number; readonly maxBytes: number },
    dropped: (key: string) => void = () => undefined,
  ) {
    this.#maxCount = bounds.maxCount;
    this.#maxBytes = bounds.maxBytes;
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Of all values, roughly. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.asked = true;
    return entry.value;
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  set(key: string, value: V): void {
    const present = this.#entries.get(key);
    const bytes = roughBytes(value);
    if (present === undefined) this.#entries.set(key, { value, bytes, asked: false });
    else {
      this.#bytes -= present.bytes;
      present.value = value;
      present.bytes = bytes;
      present.asked = true;
    }
    this.#bytes += bytes;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#bytes -= entry.bytes;
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  /** Lets entries go until it is within its bounds; the last one stays, however big it is. */
  trim(): void {
    while (this.#entries.size > 1 && (this.#entries.size > this.#maxCount || this.#bytes > this.#maxBytes)) {
      const next = this.#walk.next();
      if (next.done) {
        this.#walk = this.#entries.entries();
        continue;
      }
      const [key, entry] = next.value;
      this.#entries.delete(key);
      if (entry.asked) {
        // To the end of the line; the walk comes to it again only when all others were spared or went.
        entry.asked = false;
        this.#entries.set(key, entry);
        continue;
      }
      this.#bytes -= entry.bytes;
      this.#dropped(key);
    }
  }
}

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
