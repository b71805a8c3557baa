/** Parts of a long list that fit into one event each. */

const MAX_BYTES = 192 * 1024;

/**
 * @param most so many items in a part
 * @param sizeOf bytes of an item as JSON, at least
 */
export const packed = function* <T>(
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

/** Of so many rows the store is asked at once: a few milliseconds of work. */
const WIDTH = 64;

/** Runs over all items in order, some at a time, and leaves the process to others in between. */
export const inBatches = async <T>(
  items: readonly T[],
  run: (batch: readonly T[], first: number) => Promise<void>,
): Promise<void> => {
  for (let at = 0; at < items.length; at += WIDTH) {
    await run(items.slice(at, at + WIDTH), at);
    await new Promise((resolve) => setImmediate(resolve));
  }
};
