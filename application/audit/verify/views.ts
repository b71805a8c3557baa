import { isStrictView } from './strict-json.ts';

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** Compares in a loop, which is faster than a native call for short texts. */
export const startsWith = (line: Buffer, at: number, text: Buffer): boolean => {
  for (let nth = 0; nth < text.length; nth += 1) if (line[at + nth] !== text[nth]) return false;
  return true;
};

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const METADATA = bytesOf(',"metadata":{');
const SEALED = bytesOf(',"sealed":{"data":"');
const SEALED_METADATA = bytesOf('","metadata":"');
const END = bytesOf('"}}');
const SEALED_TEXT = bytesOf('v1:');
const COLON = 0x3a;

/** Bytes of base64. */
const BASE64 = new Uint8Array(256);
for (const byte of bytesOf('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=')) {
  BASE64[byte] = 1;
}

/** Current places in a view and in the stored JSON string that is compared with it. */
const places = { view: 0, stored: 0 };

/**
 * Advances while the view matches the stored string.
 * @returns true at the end of the string, false at a difference or an unusual escape
 */
const follow = (line: Buffer): boolean => {
  let { view, stored } = places;
  const last = line.length - 1;
  while (stored < last) {
    const byte = line[view] ?? 0;
    const other = line[stored] ?? 0;
    if (byte === other && byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH) stored += 1;
    else if (other === BACKSLASH && (byte === QUOTE || byte === BACKSLASH) && line[stored + 1] === byte) {
      stored += 2;
    } else break;
    view += 1;
  }
  places.view = view;
  places.stored = stored;
  return line[stored] === QUOTE;
};

/** Whether the text at `at` is the value of a member of the outer object, not of a nested object. */
const isOfMember = (line: Buffer, from: number, at: number): boolean => {
  if (line[at - 2] !== COLON) return false;
  let depth = 0;
  let isText = false;
  for (let place = from; place < at - 1; place += 1) {
    const byte = line[place];
    if (isText && byte === BACKSLASH) place += 1;
    else if (byte === QUOTE) isText = !isText;
    else if (!isText && (byte === 0x7b || byte === 0x5b)) depth += 1;
    else if (!isText && (byte === 0x7d || byte === 0x5d)) depth -= 1;
  }
  return depth === 1 && !isText;
};

/** The end of the sealed text that starts at `at` within a JSON string; -1 if no sealed text starts there. */
const sealedEnd = (line: Buffer, at: number): number => {
  if (!startsWith(line, at, SEALED_TEXT)) return -1;
  const keyAt = at + SEALED_TEXT.length;
  let end = keyAt;
  for (; line[end] !== COLON; end += 1) {
    const byte = line[end] ?? 0;
    if (byte < 0x20 || byte > 0x7e || byte === QUOTE || byte === BACKSLASH) return -1;
  }
  if (end === keyAt) return -1;
  do end += 1;
  while (BASE64[line[end] ?? 0] === 1);
  return line[end] === BACKSLASH && line[end + 1] === QUOTE ? end : -1;
};

/**
 * Skips a sealed text and the text that the view has in its place.
 * @param hashedTo place in the view up to which `data` is collected
 * @returns the new `hashedTo`; -1 if the difference is not a sealed text
 */
const passSealed = (line: Buffer, viewFrom: number, hashedTo: number, data: Buffer[]): number => {
  let { view, stored } = places;
  // Goes back to the start of both texts, which are equal up to here.
  while (line[view - 1] !== QUOTE) {
    if (view <= hashedTo || line[view - 1] === BACKSLASH) return -1;
    view -= 1;
    stored -= 1;
  }
  if (view < hashedTo || !isOfMember(line, viewFrom, view)) return -1;
  const end = sealedEnd(line, stored);
  if (end < 0) return -1;
  data.push(line.subarray(hashedTo, view), line.subarray(stored, end));
  for (; line[view] !== QUOTE; view += 1) {
    if (view >= line.length) return -1;
    if (line[view] === BACKSLASH) view += 1;
  }
  places.view = view;
  places.stored = end;
  return view;
};

/**
 * Compares the views with the stored texts and collects the stored data.
 * @param viewAt start of the data's view
 * @returns the stored data in pieces and the place of the metadata; undefined for a difference
 */
export const followBoth = (
  line: Buffer,
  viewAt: number,
): { data: readonly Buffer[]; from: number; to: number } | undefined => {
  // Finds the stored texts: in a line whose views have no backslash, the first backslash comes after `"sealed"`. The
  // comparison of all bytes of views and stored texts below detects a wrong place.
  const sealedAt = line.indexOf(BACKSLASH, viewAt) - SEALED.length - 1;
  const from = sealedAt > viewAt && startsWith(line, sealedAt, SEALED) ? sealedAt : line.lastIndexOf(SEALED);
  if (from < viewAt) return undefined;
  const data: Buffer[] = [];
  places.view = viewAt;
  places.stored = from + SEALED.length;
  let hashedTo = viewAt;
  while (!follow(line)) {
    hashedTo = passSealed(line, viewAt, hashedTo, data);
    if (hashedTo < 0) return undefined;
  }
  const viewEnd = places.view;
  data.push(line.subarray(hashedTo, viewEnd));
  // The stored text is strict if the view is, since they differ only in sealed texts.
  if (!isStrictView(line.toString('utf8', viewAt, viewEnd))) return undefined;
  if (!startsWith(line, viewEnd, METADATA) || !startsWith(line, places.stored, SEALED_METADATA))
    return undefined;
  const metadataAt = viewEnd + METADATA.length - 1;
  places.view = metadataAt;
  places.stored += SEALED_METADATA.length;
  if (!follow(line) || places.view !== from) return undefined;
  if (places.stored + END.length !== line.length || !startsWith(line, places.stored, END)) return undefined;
  return { data, from: metadataAt, to: from };
};
