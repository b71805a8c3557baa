import parseRange from 'range-parser';

/** Both ends are inclusive. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * The single byte range of a request (RFC 9110, section 14). Undefined when all bytes are sent: without a valid range,
 * for several ranges, for an unsatisfiable range, and for units other than bytes.
 * @param size bytes of the whole body
 */
export const byteRange = (header: string | undefined, size: number): Range | undefined => {
  const ranges = header === undefined ? -2 : parseRange(size, header);
  if (typeof ranges === 'number' || ranges.type !== 'bytes' || ranges.length !== 1) return undefined;
  const [range] = ranges;
  return range === undefined ? undefined : { first: range.start, last: range.end };
};
