/** Text rules shared by all areas. Lengths are code points. */

export const codePoints = (text: string): number => {
  let count = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
};

/** UTF-8 size of a value's JSON. */
export const jsonBytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

/** The first `max` code points; never splits a surrogate pair. */
export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : [...text.slice(0, 2 * max)].slice(0, max).join('');

/** Whether every store and JSON reader can hold the text: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');

/** Whether the text is one character that JSON escapes. */
const isEscapedCharacter = (text: string): boolean => text.length === 1 && JSON.stringify(text).length > 3;

/** Whether every store and JSON reader can hold the text as a key (decision 70). */
export const isStorableKey = (key: string): boolean =>
  key !== '__proto__' && isStorableText(key) && !isEscapedCharacter(key);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text is a lower-case UUID, the form of generated ids of resources and events. */
export const isUuid = (text: string): boolean => UUID.test(text);
