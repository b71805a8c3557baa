import { DomainError, type FieldIssue, invalid, MAX_ISSUES } from '../errors.ts';
import type { Field, FieldType, JsonValue, Types, Values } from './fields.ts';
import { isSame } from './json-values.ts';
import { checkValue, type Misfit } from './values.ts';

/** A record's values against its entity's fields: all that is wrong in one answer (decisions, section 6, Record). */

/** A value that names something else, which has to be there. */
export interface Link {
  readonly fieldKey: string;
  readonly kind: 'reference' | 'user';
  readonly id: string;
  /** Of a reference. */
  readonly entityName: string | undefined;
}

export interface Resolved {
  /** All values afterwards, those that were not touched included. */
  readonly values: Values;
  readonly types: Types;
  /** Keys whose value is another one than before. */
  readonly changed: readonly string[];
  /** Of the changed ones. */
  readonly links: readonly Link[];
  /** The first {@link MAX_ISSUES}; of unknown keys, which come from the caller, only their beginning. */
  readonly misfits: readonly (Misfit & { readonly key: string })[];
}

/** Values as a caller sends them; null is no value. */
export type Input = Readonly<Record<string, unknown>>;

const MISSING: Misfit = {
  kind: 'type',
  code: 'missing_required',
  message: 'This field must have a value.',
};
const UNKNOWN: Misfit = { kind: 'type', code: 'unknown_field', message: 'The entity has no such field.' };

/** Keys of fields are shorter. */
const MAX_KEY = 100;

const KEYED = new WeakMap<readonly Field[], ReadonlyMap<string, Field>>();

/** The same fields are asked for record after record. */
const keyed = (fields: readonly Field[]): ReadonlyMap<string, Field> => {
  const known = KEYED.get(fields);
  if (known !== undefined) return known;
  const made = new Map(fields.map((field) => [field.key, field]));
  KEYED.set(fields, made);
  return made;
};

/** @param before the record's values; undefined for a new record, which gets defaults */
export const resolve = (fields: readonly Field[], before: Values | undefined, input: Input): Resolved => {
  const byKey = keyed(fields);
  const misfits: (Misfit & { key: string })[] = [];
  const values = new Map<string, JsonValue>(Object.entries(before ?? {}));
  for (const [key, given] of Object.entries(input)) {
    const field = byKey.get(key);
    // Whatever is left, this is refused: looking further would only make the answer longer.
    if (misfits.length >= MAX_ISSUES) break;
    if (field === undefined) misfits.push({ key: key.slice(0, MAX_KEY).toWellFormed(), ...UNKNOWN });
    else if (given === null || given === undefined || (given === '' && field.required)) {
      if (field.required && (before !== undefined || field.default === undefined)) {
        misfits.push({ key, ...MISSING });
      }
      values.delete(key);
    } else {
      const checked = checkValue(field, given);
      if ('misfit' in checked) misfits.push({ key, ...checked.misfit });
      else values.set(key, checked.value);
    }
  }
  if (before === undefined) {
    for (const { key, required, default: fallback } of fields) {
      // Null from a caller is no value, where none is needed.
      if (values.has(key) || (Object.hasOwn(input, key) && !required)) continue;
      if (fallback !== undefined) values.set(key, fallback);
      else if (required && !Object.hasOwn(input, key)) misfits.push({ key, ...MISSING });
    }
  }
  return outcome(byKey, before ?? {}, values, misfits);
};

const outcome = (
  byKey: ReadonlyMap<string, Field>,
  before: Values,
  after: ReadonlyMap<string, JsonValue>,
  misfits: Resolved['misfits'],
): Resolved => {
  // Keys of fields are names (fields.ts), none of which an assignment takes for something else.
  const values: Record<string, JsonValue> = {};
  const types: Record<string, FieldType> = {};
  const changed: string[] = [];
  const links: Link[] = [];
  for (const [key, value] of after) {
    const field = byKey.get(key);
    // A value of a field that the schema no longer has: nobody holds one, and nobody shall.
    if (field === undefined) continue;
    values[key] = value;
    types[key] = field.type;
    if (Object.hasOwn(before, key) && isSame(before[key], value)) continue;
    changed.push(key);
    if ((field.type === 'reference' || field.type === 'user') && typeof value === 'string') {
      links.push({ fieldKey: key, kind: field.type, id: value, entityName: field.reference?.entity_name });
    }
  }
  for (const key of Object.keys(before)) if (!after.has(key)) changed.push(key);
  return { values, types, changed, links, misfits };
};

/** The 422 of a record (decisions, section 2). */
export const constraintViolated = (issues: readonly FieldIssue[]): DomainError =>
  new DomainError('constraint_violated', issues[0]?.message ?? 'A constraint is violated.', {
    field: issues[0]?.path ?? '',
    issues: issues.slice(0, MAX_ISSUES),
  });

export const hasWrongTypes = ({ misfits }: Resolved): boolean => misfits.some(({ kind }) => kind === 'type');

/** All that is wrong; the path of a value is `values.<key>`. */
const allIssues = ({ misfits }: Resolved, missing: ReadonlySet<string>): FieldIssue[] => [
  ...misfits.map(({ key, code, message }) => ({ path: `values.${key}`, code, message })),
  ...[...missing].map((key) => ({
    path: `values.${key}`,
    code: 'reference_not_found',
    message: 'There is nothing with this id.',
  })),
];

/**
 * What is of the wrong kind makes it a 400, with every issue there is.
 * @param missing keys of links whose other end is not there
 */
export const refuseTypes = (resolved: Resolved, missing: ReadonlySet<string>): void => {
  if (hasWrongTypes(resolved)) throw invalid(allIssues(resolved, missing));
};

/** What is of the right kind, but refused. @param missing as in {@link refuseTypes} */
export const refuseConstraints = (resolved: Resolved, missing: ReadonlySet<string>): void => {
  const issues = allIssues(resolved, missing);
  if (issues.length > 0) throw constraintViolated(issues);
};
