/** Most combining marks on one character, as in Unicode's Stream-Safe Text Format (UAX 15). */
const MARKS = 30;
const TOO_MANY = new RegExp(`(\\p{M}{${MARKS}})\\p{M}+`, 'gu');

/** Removes excess combining marks: normalising a long run of marks takes quadratic time, minutes for a whole file. */
export const streamSafe = (text: string): string => text.replace(TOO_MANY, '$1');
