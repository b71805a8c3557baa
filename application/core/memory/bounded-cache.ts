import { LRUCache } from 'lru-cache';

interface Bounds {
  readonly maxCount: number;
  readonly maxBytes: number;
}

/** A cache bounded by count and approximate bytes. An entry larger than all bytes displaces every other one. */
export const boundedCache = <V extends object>(
  { maxCount, maxBytes }: Bounds,
  onEvict: (key: string) => void = () => undefined,
): LRUCache<string, V> =>
  new LRUCache({
    max: maxCount,
    maxSize: maxBytes,
    sizeCalculation: (value, key) =>
      Math.min(maxBytes, Math.ceil(PER_ENTRY + key.length + roughBytes(value))),
    dispose: (_value, key, reason) => {
      if (reason === 'evict') onEvict(key);
    },
  });

/** Bytes of an entry's own fields, its slot in the map, and its key's header. */
const PER_ENTRY = 128;
const PER_VALUE = 16;
/** A longer array is estimated from this many elements. */
const SAMPLE = 64;

/** The approximate memory of a plain JSON-like value (bytes). */
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
