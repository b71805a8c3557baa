import { isStorableKey, isStorableText, jsonBytes } from '../core/text.ts';

/** Values of `json` fields: bounded and safe to store. */

export const MAX_JSON_BYTES = 64 * 1024;
export const MAX_JSON_DEPTH = 32;

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
  return jsonBytes(value) <= MAX_JSON_BYTES
    ? undefined
    : `The value is larger than ${MAX_JSON_BYTES / 1024} KiB.`;
};
