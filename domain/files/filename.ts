import { codePoints, truncate } from '../core/text.ts';

/** Cleans names and content types of files, because they come from an untrusted client and other people see them. */

const MAX = 255;
/** Maximum length of an extension, in code points. */
const MAX_EXTENSION = 20;
const FALLBACK_NAME = 'file';
export const FALLBACK_TYPE = 'application/octet-stream';

/**
 * Characters to remove: control characters, line and paragraph separators, byte order marks, and direction marks,
 * which can show `txt.exe` as `exe.txt`.
 */
const HIDDEN = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/gu;

const cut = (name: string, max: number): string => {
  if (codePoints(name) <= max) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 ? name.slice(dot) : '';
  const room = codePoints(extension) <= MAX_EXTENSION ? max - codePoints(extension) : max;
  return room === max ? truncate(name, max) : truncate(name, room) + extension;
};

const END = /[\s.]/u;

/** Removes white space and dots at the end. A loop, since `/[\s.]+$/` takes quadratic time. */
const withoutEnd = (name: string): string => {
  let end = name.length;
  while (end > 0 && END.test(name.charAt(end - 1))) end -= 1;
  return name.slice(0, end);
};

/**
 * A name of 1 to 255 characters without a path, in NFC. Never used as a path of stored bytes.
 * @param given the client's text
 */
export const fileName = (given: string | undefined): string => {
  const last = (given ?? '').toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const visible = withoutEnd(last.replaceAll(HIDDEN, '')).trimStart();
  // Normalising a long run of marks takes quadratic time.
  const normalised = cut(visible, 4 * MAX).normalize('NFC');
  return withoutEnd(cut(normalised, MAX)) || FALLBACK_NAME;
};

const TOKEN = "[a-z0-9!#$&^_.+'*%`|~-]{1,100}";
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}$`);

/** `type/subtype` in lower case without parameters; another text becomes `application/octet-stream`. */
export const contentType = (given: string | undefined): string => {
  const type = (given ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return MEDIA_TYPE.test(type) ? type : FALLBACK_TYPE;
};

const ACTIVE =
  /^(text\/(html|xml|css|javascript|ecmascript|jscript|livescript|x-.*script.*|vbscript)|application\/(.*xml.*|.*javascript.*|.*ecmascript.*|x-shockwave-flash|x-silverlight.*|hta|java-archive|wasm|vnd\.wap.*)|image\/svg.*|.*\+xml|multipart\/.*|message\/.*)$/;

/** Whether a browser could run a file of this type. */
export const isActiveType = (type: string): boolean => ACTIVE.test(type);
