/** Helpers on the bytes of a line. Short texts are compared in a loop, which is faster than a native call. */

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
/** Digits of a safe integer. */
const MOST_DIGITS = 15;

export const startsWith = (line: Buffer, at: number, text: Buffer): boolean => {
  for (let nth = 0; nth < text.length; nth += 1) if (line[at + nth] !== text[nth]) return false;
  return true;
};

/** The end of a plain ASCII text from `at` to its quote; -1 for other text. */
export const plainEnd = (line: Buffer, at: number): number => {
  for (let end = at; end < line.length; end += 1) {
    const byte = line[end] ?? 0;
    if (byte === QUOTE) return end > at ? end : -1;
    if (byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return -1;
  }
  return -1;
};

/** The end of a JSON integer at `at`; -1 for others, or for too many digits. */
export const digitsEnd = (line: Buffer, at: number): number => {
  let end = at;
  for (let byte = line[end] ?? 0; byte >= ZERO && byte <= NINE; byte = line[end] ?? 0) end += 1;
  const isNumber = end - at === 1 || (end > at && line[at] !== ZERO);
  return isNumber && end - at <= MOST_DIGITS ? end : -1;
};
