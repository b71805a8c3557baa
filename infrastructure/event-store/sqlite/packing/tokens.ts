/** Converts parts of ASCII texts into the bytes that they encode, and back. */

import { LENGTHS } from './tags.ts';

/** Value of each digit, -1 for other characters. */
const HEX = digits('0123456789abcdef');
const BASE64 = digits('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const HEX_CODES = Buffer.from('0123456789abcdef');
const BASE64_CODES = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const DASH = 45;
const EQUALS = 61;
const ZERO = 48;

function digits(alphabet: string): Int8Array {
  const values = new Int8Array(256).fill(-1);
  for (let at = 0; at < alphabet.length; at += 1) values[alphabet.charCodeAt(at)] = at;
  return values;
}

const digitAt = (values: Int8Array, from: Uint8Array, at: number): number => values[from[at] ?? 0] ?? -1;

/** Writes `length` bytes from twice as many lower-case hexadecimal digits; false for any other character. */
export function writeHex(
  to: Uint8Array,
  at: number,
  text: Uint8Array,
  from: number,
  length: number,
): boolean {
  let all = 0;
  for (let nth = 0; nth < length; nth += 1) {
    const byte = (digitAt(HEX, text, from + 2 * nth) << 4) | digitAt(HEX, text, from + 2 * nth + 1);
    all |= byte;
    to[at + nth] = byte;
  }
  return all >= 0;
}

/** Writes the 16 bytes of a UUID; false if the text at `from` is no UUID in lower case. */
export function writeUuid(to: Uint8Array, at: number, text: Uint8Array, from: number): boolean {
  return (
    text[from + 8] === DASH &&
    text[from + 13] === DASH &&
    text[from + 18] === DASH &&
    text[from + 23] === DASH &&
    writeHex(to, at, text, from, 4) &&
    writeHex(to, at + 4, text, from + 9, 2) &&
    writeHex(to, at + 6, text, from + 14, 2) &&
    writeHex(to, at + 8, text, from + 19, 2) &&
    writeHex(to, at + 10, text, from + 24, 6)
  );
}

export function readHex(to: Uint8Array, at: number, from: Uint8Array, start: number, length: number): number {
  let end = at;
  for (let nth = start; nth < start + length; nth += 1) {
    const byte = from[nth] ?? 0;
    to[end] = HEX_CODES[byte >> 4] ?? 0;
    to[end + 1] = HEX_CODES[byte & 15] ?? 0;
    end += 2;
  }
  return end;
}

export function readUuid(to: Uint8Array, at: number, from: Uint8Array, start: number): number {
  readHex(to, at, from, start, 4);
  readHex(to, at + 9, from, start + 4, 2);
  readHex(to, at + 14, from, start + 6, 2);
  readHex(to, at + 19, from, start + 8, 2);
  readHex(to, at + 24, from, start + 10, 6);
  to[at + 8] = DASH;
  to[at + 13] = DASH;
  to[at + 18] = DASH;
  to[at + 23] = DASH;
  return at + LENGTHS.uuid;
}

/** Returns the number of bytes written; -1 if the text is empty or not canonical base64 with padding. */
export function writeBase64(to: Uint8Array, at: number, text: Uint8Array, from: number, end: number): number {
  if ((end - from) % 4 !== 0 || end === from) return -1;
  const padding = text[end - 1] !== EQUALS ? 0 : text[end - 2] !== EQUALS ? 1 : 2;
  let all = 0;
  let next = at;
  for (let place = from; place < end; place += 4) {
    const isLast = place + 4 === end;
    const third = isLast && padding === 2 ? 0 : digitAt(BASE64, text, place + 2);
    const fourth = isLast && padding > 0 ? 0 : digitAt(BASE64, text, place + 3);
    const bits =
      (digitAt(BASE64, text, place) << 18) | (digitAt(BASE64, text, place + 1) << 12) | (third << 6) | fourth;
    all |= bits;
    to[next] = bits >> 16;
    to[next + 1] = bits >> 8;
    to[next + 2] = bits;
    next += 3;
  }
  // The unused bits before the padding must be zero, as encoders write them.
  const spare = padding === 0 ? 0 : padding === 1 ? to[next - 1] : (to[next - 1] ?? 0) | (to[next - 2] ?? 0);
  return all < 0 || spare !== 0 ? -1 : next - at - padding;
}

export function readBase64(
  to: Uint8Array,
  at: number,
  from: Uint8Array,
  start: number,
  bytes: number,
): number {
  let end = at;
  for (let nth = 0; nth < bytes; nth += 3) {
    const left = bytes - nth;
    const second = left > 1 ? (from[start + nth + 1] ?? 0) : 0;
    const third = left > 2 ? (from[start + nth + 2] ?? 0) : 0;
    const bits = ((from[start + nth] ?? 0) << 16) | (second << 8) | third;
    to[end] = BASE64_CODES[bits >> 18] ?? 0;
    to[end + 1] = BASE64_CODES[(bits >> 12) & 63] ?? 0;
    to[end + 2] = left > 1 ? (BASE64_CODES[(bits >> 6) & 63] ?? 0) : EQUALS;
    to[end + 3] = left > 2 ? (BASE64_CODES[bits & 63] ?? 0) : EQUALS;
    end += 4;
  }
  return end;
}

/** Pattern of `2026-11-24T14:55:55.570Z`: 0 is any digit. A pair of digits is one byte, and so is the last digit. */
const TIME = Buffer.from('0000-00-00T00:00:00.000Z');
const TIME_PAIRS = new Uint8Array([0, 2, 5, 8, 11, 14, 17, 20]);

export function writeTime(to: Uint8Array, at: number, text: Uint8Array, from: number): boolean {
  for (let nth = 0; nth < LENGTHS.time; nth += 1) {
    const wanted = TIME[nth] ?? 0;
    const code = text[from + nth] ?? 0;
    if (wanted === ZERO ? code < ZERO || code > ZERO + 9 : code !== wanted) return false;
  }
  for (let nth = 0; nth < TIME_PAIRS.length; nth += 1) {
    const place = from + (TIME_PAIRS[nth] ?? 0);
    to[at + nth] = 10 * (text[place] ?? 0) + (text[place + 1] ?? 0) - 11 * ZERO;
  }
  to[at + TIME_PAIRS.length] = (text[from + 22] ?? 0) - ZERO;
  return true;
}

export function readTime(to: Uint8Array, at: number, from: Uint8Array, start: number): number {
  for (let nth = 0; nth < LENGTHS.time; nth += 1) to[at + nth] = TIME[nth] ?? 0;
  for (let nth = 0; nth < TIME_PAIRS.length; nth += 1) {
    const pair = from[start + nth] ?? 0;
    const place = at + (TIME_PAIRS[nth] ?? 0);
    const tens = Math.floor(pair / 10);
    to[place] = ZERO + tens;
    to[place + 1] = ZERO + pair - 10 * tens;
  }
  to[at + 22] = ZERO + (from[start + TIME_PAIRS.length] ?? 0);
  return at + LENGTHS.time;
}
