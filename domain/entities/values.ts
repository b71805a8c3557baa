import { codePoints, isStorableKey, isStorableText, jsonBytes } from '../core/text.ts';
import { decimalKey } from '../expressions/decimal.ts';
import { instantKey, instantOf, isDate } from '../expressions/times.ts';
import { type Field, type JsonValue, MAX_LONG_TEXT, MAX_TEXT } from './fields.ts';

/** Checks if a value fits its field (decisions, section 6, Record). The application looks up references and users. */

/**
 * `type`: a value of another type, an unknown option or field, or a missing value (`validation_failed`).
 * `constraint`: a value that breaks `min`, `max` or `max_length` (`constraint_violated`).
 */
export interface Misfit {
  readonly kind: 'type' | 'constraint';
  readonly code: string;
  readonly message: string;
}

/** The stored form of a value, or why it is refused. */
type Fit = { readonly value: JsonValue } | { readonly misfit: Misfit };

const mismatch = (message: string, code = 'type_mismatch'): Fit => ({
  misfit: { kind: 'type', code, message },
});
const refused = (code: string, message: string): Fit => ({ misfit: { kind: 'constraint', code, message } });

/** @param value not null */
export const checkValue = (field: Field, value: unknown): Fit => {
  const kept = keep(field, value);
  return 'misfit' in kept ? kept : (constrained(field, kept.value) ?? kept);
};

const keep = (field: Field, value: unknown): Fit => {
  switch (field.type) {
    case 'text':
    case 'long_text':
      if (typeof value !== 'string') return mismatch('This must be a string.');
      return isStorableText(value)
        ? { value }
        : mismatch('The text contains a character that cannot be stored.');
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value)
        ? { value: value === 0 ? 0 : value }
        : mismatch('This must be a whole number of at most 2^53 − 1.');
    case 'decimal':
      return typeof value === 'string' && isDecimal(value)
        ? { value }
        : mismatch('This must be a decimal number as a string, with at most 38 digits.');
    case 'boolean':
      return typeof value === 'boolean' ? { value } : mismatch('This must be true or false.');
    case 'date':
      return typeof value === 'string' && isDate(value)
        ? { value }
        : mismatch('This must be a calendar date, YYYY-MM-DD.');
    case 'datetime': {
      const instant = typeof value === 'string' ? instantOf(value.toUpperCase()) : undefined;
      return instant === undefined
        ? mismatch('This must be an RFC 3339 time with an offset, such as 2026-01-31T09:00:00Z.')
        : { value: instantKey(instant) };
    }
    case 'enum':
      if (typeof value !== 'string') return mismatch('This must be one of the options.');
      return field.options?.includes(value) === true
        ? { value }
        : mismatch('This is not one of the options.', 'unknown_enum');
    case 'reference':
    case 'user':
      return typeof value === 'string' ? { value } : mismatch('This must be an id.');
    case 'json': {
      const problem = jsonProblem(value);
      // `jsonProblem` has checked every leaf: the value is JSON.
      return problem === undefined ? { value: value as JsonValue } : mismatch(problem);
    }
    default:
      return field.type satisfies never;
  }
};

/** Checks `min`, `max` and `max_length`. */
const constrained = (field: Field, value: JsonValue): Fit | undefined => {
  const { type, min, max } = field;
  if (typeof value === 'string' && (type === 'text' || type === 'long_text')) {
    const most = Math.min(field.max_length ?? Infinity, type === 'text' ? MAX_TEXT : MAX_LONG_TEXT);
    return codePoints(value) > most
      ? refused('max_length', `The text must have at most ${most} characters.`)
      : undefined;
  }
  if (type !== 'integer' && type !== 'decimal') return undefined;
  const order = (bound: string | number): number => compareDecimals(String(value), String(bound));
  if (min !== undefined && order(min) < 0) return refused('min', `This must be at least ${min}.`);
  if (max !== undefined && order(max) > 0) return refused('max', `This must be at most ${max}.`);
  return undefined;
};

// Decimals are JSON strings, so that no digit is lost (decisions, section 6).

const DECIMAL = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;
const MAX_DIGITS = 38;

/** Plain notation: no exponent, no redundant leading zero, at most 38 digits. */
export const isDecimal = (text: string): boolean =>
  text.length <= MAX_DIGITS + 2 && DECIMAL.test(text) && text.replace(/[-.]/g, '').length <= MAX_DIGITS;

/** Comparator for sorting; both texts must be decimals. */
export const compareDecimals = (a: string, b: string): number => {
  const [x = '', y = ''] = [decimalKey(a), decimalKey(b)];
  return x < y ? -1 : x > y ? 1 : 0;
};

// Values of `json` fields: bounded and safe to store.

const MAX_JSON_BYTES = 64 * 1024;
const MAX_JSON_DEPTH = 32;

const problemIn = (value: unknown, depth: number): string | undefined => {
  if (typeof value === 'string') {
    return isStorableText(value) ? undefined : 'A string contains a character that cannot be stored.';
  }
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'A number is too large.';
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value !== 'object') return 'This is not JSON.';
  if (depth >= MAX_JSON_DEPTH) return `The value is nested deeper than ${MAX_JSON_DEPTH} levels.`;
  for (const [key, member] of Object.entries(value)) {
    if (!Array.isArray(value) && !isStorableKey(key)) return 'A key cannot be stored.';
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
