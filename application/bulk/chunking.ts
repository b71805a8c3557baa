/** Maximum bytes of a chunk of several items; one event stores one chunk. */
const MAX_BYTES = 192 * 1024;

/**
 * Splits a list into chunks that fit into one event each.
 * @param most maximum number of items per chunk
 * @param sizeOf an item's bytes as JSON, exact or too high
 */
export const chunked = function* <T>(
  items: Iterable<T>,
  most: number,
  sizeOf: (item: T) => number = bytesOf,
): Iterable<readonly T[]> {
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (part.length > 0 && (part.length >= most || bytes + size > MAX_BYTES)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) yield part;
};

export const bytesOf = (item: unknown): number => Buffer.byteLength(JSON.stringify(item));
