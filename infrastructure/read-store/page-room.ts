/** Maximum bytes of stored documents per page, so that a page does not block the event loop. */
const PAGE_BYTES = 1024 * 1024;

/** Decides for each document in order whether it fits on the page; the first one always does. */
export function pageRoom<D>(
  rows: number,
  sizeOf: (document: D) => number,
  bytes = PAGE_BYTES,
): (document: D) => boolean {
  let taken = 0;
  let used = 0;
  return (document) => {
    taken += 1;
    if (Number.isFinite(bytes)) used += sizeOf(document);
    return taken === 1 || (taken <= rows && used <= bytes);
  };
}
