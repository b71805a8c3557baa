import { codePoints, isStorableText } from '../core/text.ts';
import { instantKey, instantOf, isDate } from '../expressions/times.ts';
import { compareDecimals, isDecimal } from './decimal.ts';
import { type Field, type JsonValue, MAX_LONG_TEXT, MAX_TEXT } from './fields.ts';
import { jsonProblem } from './json-values.ts';

/** Whether a value fits its field (decisions, section 6, Record). The application looks up references and users. */

/**
 * `type`: a value of another type (`validation_failed`). `constraint`: the right type, but a rule is broken
 * (`constraint_violated`).
 */
export interface Misfit {
  readonly kind: 'type' | 'constraint';
  readonly code: string;
  readonly message: string;
}

/** The stored form of a value, or why it is refused. */
export type Fit = { readonly value: JsonValue } | { readonly misfit: Misfit };

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
      if (typeof value !== 'string') return mismatch('This must be a text.');
      return isStorableText(value) ? { value } : mismatch('The text holds a character that cannot be kept.');
    case 'integer':
      return typeof value === 'number' && Number.isSafeInteger(value)
        ? { value: value === 0 ? 0 : value }
        : mismatch('This must be a whole number of at most 2^53 − 1.');
    case 'decimal':
      return typeof value === 'string' && isDecimal(value)
        ? { value }
        : mismatch('This must be a decimal number as a text, with at most 38 digits.');
    case 'boolean':
      return typeof value === 'boolean' ? { value } : mismatch('This must be true or false.');
    case 'date':
      return typeof value === 'string' && isDate(value)
        ? { value }
        : mismatch('This must be a date of the calendar, YYYY-MM-DD.');
    case 'datetime': {
      const instant = typeof value === 'string' ? instantOf(value.toUpperCase()) : undefined;
      return instant === undefined
        ? mismatch('This must be an instant as of RFC 3339, with an offset.')
        : { value: instantKey(instant) };
    }
    case 'enum':
      if (typeof value !== 'string') return mismatch('This must be one of the options.');
      return field.options?.includes(value) === true
        ? { value }
        : mismatch('This is none of the options.', 'unknown_enum');
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
  const order = ordering(type, value);
  if (order === undefined) return undefined;
  if (min !== undefined && order(min) < 0) return refused('min', `This must be at least ${min}.`);
  if (max !== undefined && order(max) > 0) return refused('max', `This must be at most ${max}.`);
  return undefined;
};

const ordering = (
  type: Field['type'],
  value: JsonValue,
): ((bound: string | number) => number) | undefined => {
  if (type === 'integer' && typeof value === 'number') return (bound) => value - Number(bound);
  if (type === 'decimal' && typeof value === 'string') {
    return (bound) => compareDecimals(value, String(bound));
  }
  return undefined;
};
