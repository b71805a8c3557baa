/** Text rules shared by every context. Lengths are code points, as people count. */

export const codePoints = (text: string): number => {
  let count = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit < 0xdc00 || unit > 0xdfff) count += 1;
  }
  return count;
};

/** Bytes of a value as JSON in UTF-8. */
export const jsonBytes = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length;

/** The first `max` code points; never half a surrogate pair. */
export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : [...text].slice(0, max).join('');

/** Text that every store and every JSON reader can keep: no NUL, no lone surrogate. */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\u0000');
