import type { Scalar } from '../../domain/core/projection.ts';

/**
 * Encodes scalars as texts whose byte order is the port's order: null < booleans < numbers < strings by UTF-8 bytes.
 * 0x01 ends a field, so that a string sorts before a longer string that begins with it. No field contains 0x01: in
 * strings 0x00–0x02 are escaped as 0x02 and 0x03–0x05.
 */
export const END = '\u0001';
/** Replaces the END of a complete field to form the lowest text after all keys that begin with that field. */
export const AFTER_END = '\u0002';
/** Sorts after every key: fields begin with a lower digit. */
export const AFTER_ALL = '9';

const bits = new DataView(new ArrayBuffer(8));
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to escape
const RESERVED = /[\u0000-\u0002]/g;

/** @throws {TypeError} for NaN, which has no place in the order */
export function encode(value: Scalar): string {
  if (typeof value === 'string') return `3${escapeText(value)}`;
  if (value === null) return '0';
  if (typeof value === 'boolean') return value ? '1t' : '1f';
  if (Number.isNaN(value)) throw new TypeError('NaN cannot be indexed');
  // IEEE 754 doubles order as unsigned integers once negatives are inverted and positives get the sign bit.
  bits.setFloat64(0, value === 0 ? 0 : value);
  const high = bits.getUint32(0);
  const low = bits.getUint32(4);
  return high >>> 31 === 1 ? `2${hex(~high)}${hex(~low)}` : `2${hex(high | 0x8000_0000)}${hex(low)}`;
}

const hex = (word: number): string => (word >>> 0).toString(16).padStart(8, '0');

/** The inverse of {@link encode} (a zero loses its sign). */
export function decode(field: string): Scalar {
  const body = field.slice(1);
  if (field.startsWith('3')) return unescapeText(body);
  if (field.startsWith('0')) return null;
  if (field.startsWith('1')) return body === 't';
  const high = Number.parseInt(body.slice(0, 8), 16);
  const low = Number.parseInt(body.slice(8), 16);
  const positive = high >>> 31 === 1;
  bits.setUint32(0, positive ? high & 0x7fff_ffff : ~high);
  bits.setUint32(4, positive ? low : ~low);
  return bits.getFloat64(0);
}

const escapeText = (text: string): string =>
  text.replace(RESERVED, (char) => `\u0002${String.fromCharCode(char.charCodeAt(0) + 3)}`);
const unescapeText = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character itself
  text.replace(/\u0002(.)/gs, (_, char: string) => String.fromCharCode(char.charCodeAt(0) - 3));
