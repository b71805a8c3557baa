/** Parts of a long list that fit into one event each. */

const MAX_BYTES = 192 * 1024;

/** @param most so many items in a part */
export const packed = function* <T>(items: Iterable<T>, most: number): Iterable<readonly T[]> {
  let part: T[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = Buffer.byteLength(JSON.stringify(item));
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

const WIDTH = 64;

/** Runs over all items in order, some at a time, and leaves the process to others in between. */
export const inBatches = async <T>(
  items: readonly T[],
  run: (item: T, index: number) => Promise<void>,
): Promise<void> => {
  for (let at = 0; at < items.length; at += WIDTH) {
    await Promise.all(items.slice(at, at + WIDTH).map((item, i) => run(item, at + i)));
    await new Promise((resolve) => setImmediate(resolve));
  }
};
