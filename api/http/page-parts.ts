import type { Slice } from '../../application/core/concurrency/time-slices.ts';
import type { Page, PageRequest } from '../../domain/core/projection.ts';

/** Rows of the first part. */
const FIRST_ROWS = 8;
/** Bytes of JSON that a further part should have, estimated from the rows so far. */
const PART_BYTES = 128 * 1024;
/** Bytes of JSON after which a page ends. */
const PAGE_BYTES = 1024 * 1024;

/**
 * Reads a page in parts. For lists whose rows are larger than their stored documents: the read store limits only the
 * bytes of the documents. The page ends after about 1 MiB of JSON, or at `limit`. Each part has its own slice, and so
 * has the caller's work on the page.
 */
export const pageInParts = async <View>(
  { limit, after }: PageRequest,
  slice: Slice,
  read: (part: PageRequest) => Promise<Page<View>>,
): Promise<Page<View>> => {
  const docs: View[] = [];
  let next = after;
  let bytes = 0;
  do {
    await slice.next();
    const most = docs.length === 0 ? FIRST_ROWS : Math.max(1, Math.floor((PART_BYTES * docs.length) / bytes));
    const part = await read({ limit: Math.min(most, limit - docs.length), after: next });
    docs.push(...part.docs);
    bytes += Buffer.byteLength(JSON.stringify(part.docs));
    next = part.next;
  } while (next !== undefined && docs.length < limit && bytes < PAGE_BYTES);
  await slice.next();
  return { docs, next };
};
