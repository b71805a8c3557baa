import type { z } from 'zod';
import { type DomainError, type FieldIssue, invalid } from '../../domain/core/errors.ts';

/** Converts issues of zod to issues of the API, with messages that never repeat a value. */

/** Maximum of issues in an answer, so that the answer to a body with thousands of errors stays short. */
const MAX_ISSUES = 100;

type RawIssue = z.core.$ZodRawIssue;

const nameOf = (path: readonly PropertyKey[] | undefined): string =>
  path === undefined || path.length === 0 ? 'The value' : dotted(path);

/** A path such as `lines.0.debit`; its names are truncated, because keys of an object may come from the caller. */
const dotted = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => String(part).slice(0, 100))
    .join('.')
    .toWellFormed();

const size = (issue: RawIssue, limit: unknown, bound: 'least' | 'most'): string => {
  const amount = String(limit);
  switch (issue.origin) {
    case 'string':
      return `must have at ${bound} ${amount} ${amount === '1' ? 'character' : 'characters'}`;
    case 'array':
    case 'set':
    case 'map':
      return `must have at ${bound} ${amount} ${amount === '1' ? 'entry' : 'entries'}`;
    default:
      return issue.inclusive === false
        ? `must be ${bound === 'least' ? 'more' : 'less'} than ${amount}`
        : `must be at ${bound} ${amount}`;
  }
};

const KINDS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

const predicate = (issue: RawIssue): string => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${KINDS[String(issue.expected)] ?? `of the type ${String(issue.expected)}`}`;
    case 'too_small':
      return size(issue, issue.minimum, 'least');
    case 'too_big':
      return size(issue, issue.maximum, 'most');
    case 'invalid_value': {
      const values: unknown = issue.values;
      if (issue.input === undefined) return 'is required';
      return Array.isArray(values) && values.length > 1
        ? `must be one of ${values.map(String).join(', ')}`
        : `must be ${Array.isArray(values) ? String(values[0]) : 'the expected value'}`;
    }
    case 'invalid_format':
      return String(issue.format) === 'regex'
        ? 'does not have the expected format'
        : `is not a valid ${String(issue.format)}`;
    case 'unrecognized_keys':
      return 'has an unknown key';
    case 'not_multiple_of':
      return `must be a multiple of ${String(issue.divisor)}`;
    default:
      return issue.input === undefined ? 'is required' : 'is not valid';
  }
};

/** zod's options for each parse. `error` runs for invalid input only; a schema's own message takes precedence. */
export const SENTENCES: { readonly error: (issue: RawIssue) => string; readonly reportInput: true } = {
  error: (issue) =>
    Array.isArray(issue.input) && issue.code === 'invalid_type' && issue.expected === 'string'
      ? `${nameOf(issue.path)} must be a single value, not a list.`
      : `${nameOf(issue.path)} ${predicate(issue)}.`,
  // Distinguishes a missing value from a wrong one; {@link toIssue} drops the value.
  reportInput: true,
};

const toIssue = (issue: z.core.$ZodIssue): FieldIssue => {
  const missing =
    (issue.code === 'invalid_type' || issue.code === 'invalid_value') && issue.input === undefined;
  const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
  return {
    path: dotted(keys[0] === undefined ? issue.path : [...issue.path, keys[0]]),
    code: missing ? 'required' : issue.code,
    message: issue.message,
  };
};

/** The 400 for issues of a schema. */
export const validationError = (issues: readonly z.core.$ZodIssue[]): DomainError =>
  invalid(issues.slice(0, MAX_ISSUES).map(toIssue));
