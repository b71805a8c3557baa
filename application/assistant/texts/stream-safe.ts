/** Marks that may stand on one character, as in Unicode's Stream-Safe Text Format (UAX 15). */
const MARKS = 30;
const TOO_MANY = new RegExp(`(\\p{M}{${MARKS}})\\p{M}+`, 'gu');

/**
 * Without the marks that no script needs: putting a run of combining marks in order takes time by the square of its
 * length, for minutes where a whole file is one, and everything that is compared is normalised sooner or later.
 */
export const streamSafe = (text: string): string => text.replace(TOO_MANY, '$1');
