/** Maximum bytes of stored text per page of documents, so that a page does not block the event loop. */
const PAGE_BYTES = 2 * 1024 * 1024;

/** Decides for each document in turn whether it fits on the page; the first one always does. */
export function pageRoom(rows: number, bytes = PAGE_BYTES): (text: string) => boolean {
  let taken = 0;
  let used = 0;
  return (text) => {
    taken += 1;
    used += Buffer.byteLength(text);
    return taken === 1 || (taken <= rows && used <= bytes);
  };
}
