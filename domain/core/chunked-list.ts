/**
 * A list as an array of chunks, which JSON can hold. A changed list shares its unchanged chunks with the list before
 * the change: adding an item copies only the last chunk and the array of chunks.
 */
export type ChunkedList<T> = readonly (readonly T[])[];

const CHUNK = 256;

export const withItem = <T>(list: ChunkedList<T>, item: T): ChunkedList<T> => {
  const last = list.at(-1);
  if (last === undefined || last.length >= CHUNK) return [...list, [item]];
  return [...list.slice(0, -1), [...last, item]];
};

/** Reuses chunks that hold no removed item, and joins neighbouring chunks that fit into one chunk. */
export const withoutItems = <T>(list: ChunkedList<T>, removed: ReadonlySet<T>): ChunkedList<T> => {
  const kept: (readonly T[])[] = [];
  for (const chunk of list) {
    const rest = chunk.some((item) => removed.has(item)) ? chunk.filter((item) => !removed.has(item)) : chunk;
    const before = kept.at(-1);
    if (rest.length === 0) continue;
    if (before !== undefined && before.length + rest.length <= CHUNK)
      kept[kept.length - 1] = [...before, ...rest];
    else kept.push(rest);
  }
  return kept;
};

export const itemsOf = <T>(list: ChunkedList<T>): readonly T[] => list.flat();
