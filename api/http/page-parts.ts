import type { PageEnd } from '../../domain/core/projection.ts';

/** Rows read together: a page ends at most so many rows after it is full. */
const PART = 8;
/** Bytes of JSON after which a page ends. */
const PAGE_BYTES = 1024 * 1024;

interface Part<View> {
  readonly views: readonly View[];
  /** Present when more rows follow. */
  readonly next: PageEnd | undefined;
}

/**
 * A page of a list whose rows show more than their documents, which alone bound a page of the read store. It ends after
 * about 1 MiB of JSON, with at least one row.
 */
export const pageInParts = async <View>(
  { limit, after }: { readonly limit: number; readonly after: PageEnd | undefined },
  read: (part: { readonly limit: number; readonly after: PageEnd | undefined }) => Promise<Part<View>>,
): Promise<Part<View>> => {
  const views: View[] = [];
  let next = after;
  let bytes = 0;
  do {
    const part = await read({ limit: Math.min(PART, limit - views.length), after: next });
    views.push(...part.views);
    bytes += Buffer.byteLength(JSON.stringify(part.views));
    next = part.next;
  } while (next !== undefined && views.length < limit && bytes < PAGE_BYTES);
  return { views, next };
};
