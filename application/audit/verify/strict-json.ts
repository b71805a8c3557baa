/**
 * JSON that every parser reads in the same way (docs/audit-format.md, "Strict JSON"): unique member names, numbers as
 * in RFC 8785, limited nesting.
 */

/** Most levels of nesting; more than the 100 levels of a request body. */
const MOST_LEVELS = 256;
const LEVELS_OF_VIEW = MOST_LEVELS - 1;
/** A text of at most this length cannot have more levels than a view may have. */
const SHALLOW = 2 * LEVELS_OF_VIEW;

const QUOTE = 0x22;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const NUMBER = /-?\d[\d.eE+-]*/y;
const COLON = /[ \t\n\r]*:/y;

/** Undefined for text that is not strict JSON. */
export const strictJson = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text);
    return isStrict(text, MOST_LEVELS) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** Whether a view is strict JSON within its line. Tries the fastest check first: most views equal `JSON.stringify`. */
export const isStrictView = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return (text.length <= SHALLOW && JSON.stringify(value) === text) || isStrict(text, LEVELS_OF_VIEW);
  } catch {
    return false;
  }
};

/** @param text JSON */
const isStrict = (text: string, mostLevels: number): boolean => {
  /** Member names of each open object; undefined for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let at = 0; at < text.length; ) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      const end = stringEnd(text, at);
      COLON.lastIndex = end;
      if (COLON.test(text)) {
        const names = open.at(-1);
        const name: unknown = JSON.parse(text.slice(at, end));
        if (names === undefined || typeof name !== 'string' || names.has(name)) return false;
        names.add(name);
      }
      at = end;
    } else if (unit === MINUS || (unit >= ZERO && unit <= NINE)) {
      NUMBER.lastIndex = at;
      const [number = ''] = NUMBER.exec(text) ?? [];
      if (String(Number(number)) !== number) return false;
      at += number.length;
    } else {
      const character = text[at];
      if (character === '{') open.push(new Set());
      else if (character === '[') open.push(undefined);
      else if (character === '}' || character === ']') open.pop();
      if (open.length > mostLevels) return false;
      at += 1;
    }
  }
  return true;
};

const stringEnd = (text: string, from: number): number => {
  let at = from + 1;
  for (; text.charCodeAt(at) !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
  return at + 1;
};
