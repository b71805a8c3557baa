import type { LineTexts } from '../ports/lines/line-texts.ts';

/** Bytes with others in the place of some of them. */

/** What is written instead of a part. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly instead: Uint8Array;
}

/** A copy. @param edits in their order */
export const edited = (bytes: Buffer, edits: readonly Edit[]): Uint8Array => {
  let length = bytes.length;
  for (const { from, to, instead } of edits) length += instead.length - (to - from);
  const into = Buffer.allocUnsafeSlow(length);
  let [read, written] = [0, 0];
  for (const { from, to, instead } of edits) {
    written += bytes.copy(into, written, read, from);
    into.set(instead, written);
    written += instead.length;
    read = to;
  }
  bytes.copy(into, written, read);
  return into;
};

/**
 * Moves what is kept together, and gives back that part: a copy takes new memory, which costs three times as much. Only
 * where texts grow, so that something not yet read would be written over, is it a copy.
 * @param instead what is to stand there, for each
 */
export const writtenOver = (bytes: Buffer, texts: LineTexts, instead: readonly Uint8Array[]): Uint8Array => {
  let room = 0;
  for (const [nth, one] of instead.entries()) {
    room += texts.to(nth) - texts.from(nth) - one.length;
    if (room < 0) return edited(bytes, editsOf(texts, instead));
  }
  let [read, written] = [0, 0];
  for (const [nth, one] of instead.entries()) {
    const from = texts.from(nth);
    if (read !== written) bytes.copyWithin(written, read, from);
    written += from - read;
    // One by one where it is short: a call out of the language costs as much as sixty bytes.
    if (one.length > 64) bytes.set(one, written);
    else for (let unit = 0; unit < one.length; unit += 1) bytes[written + unit] = one[unit] ?? 0;
    written += one.length;
    read = texts.to(nth);
  }
  if (read !== written) bytes.copyWithin(written, read);
  return bytes.subarray(0, written + bytes.length - read);
};

/** What is to stand in the place of each text. */
export const editsOf = (texts: LineTexts, instead: readonly Uint8Array[]): Edit[] =>
  instead.map((one, nth) => ({ from: texts.from(nth), to: texts.to(nth), instead: one }));
