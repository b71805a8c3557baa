import type { Page, PageRequest } from '../../domain/core/projection.ts';

/** Rows read together: a page ends at most so many rows after it is full. */
const PART = 8;
/** Bytes of JSON after which a page ends. */
const PAGE_BYTES = 1024 * 1024;

/**
 * A page of a list whose rows show more than their documents, which alone bound a page of the read store. It ends after
 * about 1 MiB of JSON, with at least one row.
 */
export const pageInParts = async <View>(
  { limit, after }: PageRequest,
  read: (part: PageRequest) => Promise<Page<View>>,
): Promise<Page<View>> => {
  const docs: View[] = [];
  let next = after;
  let bytes = 0;
  do {
    const part = await read({ limit: Math.min(PART, limit - docs.length), after: next });
    docs.push(...part.docs);
    bytes += Buffer.byteLength(JSON.stringify(part.docs));
    next = part.next;
  } while (next !== undefined && docs.length < limit && bytes < PAGE_BYTES);
  return { docs, next };
};
