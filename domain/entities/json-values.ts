import { isStorableKey, isStorableText } from '../core/text.ts';
import type { JsonValue } from './fields.ts';

/** Values of `json` fields: bounded, comparable, and safe to store. */

export const MAX_JSON_BYTES = 64 * 1024;
export const MAX_JSON_DEPTH = 32;

/** JSON with sorted keys: equal values give equal texts. */
export const canonical = (value: JsonValue): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
};

export const isSame = (a: JsonValue | undefined, b: JsonValue | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && canonical(a) === canonical(b));

const problemIn = (value: unknown, depth: number): string | undefined => {
  if (typeof value === 'string') {
    return isStorableText(value) ? undefined : 'A text holds a character that cannot be kept.';
  }
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'A number is too large.';
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value !== 'object') return 'This is not JSON.';
  if (depth >= MAX_JSON_DEPTH) return `The value is nested deeper than ${MAX_JSON_DEPTH}.`;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value) && !isStorableKey(key)) return 'A key cannot be kept.';
    const problem = problemIn(member, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

/** Describes why a value cannot be stored; undefined when it can. */
export const jsonProblem = (value: unknown): string | undefined => {
  const problem = problemIn(value, 0);
  if (problem !== undefined) return problem;
  // Nested values are checked above; this checks the total size.
  return utf8Length(JSON.stringify(value)) <= MAX_JSON_BYTES
    ? undefined
    : `The value is larger than ${MAX_JSON_BYTES / 1024} KiB.`;
};

const utf8Length = (text: string): number => {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
};
