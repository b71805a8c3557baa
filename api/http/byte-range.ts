import parseRange from 'range-parser';

/** Both ends included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * The one range of bytes that a request asks for (RFC 9110, section 14). Undefined where all bytes are to be sent: no
 * range, several, none that the body has, or another unit. A server may always answer so.
 * @param size of the whole, bytes
 */
export const byteRange = (header: string | undefined, size: number): Range | undefined => {
  const ranges = header === undefined ? -2 : parseRange(size, header);
  if (typeof ranges === 'number' || ranges.type !== 'bytes' || ranges.length !== 1) return undefined;
  const [range] = ranges;
  return range === undefined ? undefined : { first: range.start, last: range.end };
};
