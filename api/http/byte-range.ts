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
  const [, from = '', to = ''] = /^bytes=([0-9]{0,15})-([0-9]{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if ((from === '' && to === '') || size === 0) return undefined;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? undefined : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1);
  return first > last ? undefined : { first, last };
};
