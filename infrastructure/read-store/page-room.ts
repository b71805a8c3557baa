/** The most stored text, in bytes, that one page of documents holds: about as much as a thread handles in 30 ms. */
const PAGE_BYTES = 2 * 1024 * 1024;

/** Tells of one document after the other, by its text, whether it still belongs to the page. The first one does. */
export function pageRoom(rows: number, bytes = PAGE_BYTES): (text: string) => boolean {
  let taken = 0;
  let used = 0;
  return (text) => {
    taken += 1;
    used += Buffer.byteLength(text);
    return taken === 1 || (taken <= rows && used <= bytes);
  };
}
