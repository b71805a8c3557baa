import type { Field, Values } from './fields.ts';
import { checkValue, compareDecimals } from './values.ts';

/** Finds the rules of a changed schema that stored records may break (decision 12). */

/** A rule that records of the old schema may break. */
export interface Tightening {
  readonly key: string;
  readonly message: string;
  readonly breaks: (values: Values) => boolean;
}

const isThere = (values: Values, key: string): boolean => Object.hasOwn(values, key);

/** The rules that a change of fields from `before` to `after` adds. */
export const tightenings = (before: readonly Field[], after: readonly Field[]): readonly Tightening[] => {
  const next = new Map(after.map((field) => [field.key, field]));
  const had = new Set(before.map(({ key }) => key));
  const found: Tightening[] = [];
  for (const old of before) {
    const field = next.get(old.key);
    const holds = (message: string): void => {
      found.push({ key: old.key, message, breaks: (values) => isThere(values, old.key) });
    };
    if (field === undefined) holds('Records have values in this field.');
    else if (isOther(old, field)) {
      holds('Records have values in this field: its type and its entity cannot be changed.');
      found.push(...demanded(field));
    } else found.push(...narrowed(old, field));
  }
  for (const field of after) if (!had.has(field.key)) found.push(...demanded(field));
  return found;
};

const isOther = (old: Field, field: Field): boolean =>
  field.type !== old.type || field.reference?.entity_name !== old.reference?.entity_name;

const demanded = (field: Field): Tightening[] =>
  field.required && field.default === undefined
    ? [
        {
          key: field.key,
          message: 'Records without a value in this field exist: it cannot become required.',
          breaks: (values) => !isThere(values, field.key),
        },
      ]
    : [];

/** New rules of a field that keeps its type: fewer options, closer bounds, or a value that becomes required. */
const narrowed = (old: Field, field: Field): Tightening[] => {
  const bounds: Tightening = {
    key: field.key,
    message: 'Records have values that the changed field would refuse.',
    breaks: (values) => {
      const value = values[field.key];
      return value !== undefined && isThere(values, field.key) && 'misfit' in checkValue(field, value);
    },
  };
  return [...(isNarrower(old, field) ? [bounds] : []), ...(old.required ? [] : demanded(field))];
};

const isNarrower = (old: Field, field: Field): boolean => {
  const options = new Set(field.options);
  return (
    old.options?.some((option) => !options.has(option)) === true ||
    isCloser(old.min, field.min, 1) ||
    isCloser(old.max, field.max, -1) ||
    isCloser(old.max_length, field.max_length, -1)
  );
};

/** @param direction 1 for a lower bound, which is closer when greater; -1 for an upper bound */
const isCloser = (
  old: number | string | undefined,
  bound: number | string | undefined,
  direction: 1 | -1,
): boolean =>
  bound !== undefined && (old === undefined || compareDecimals(String(bound), String(old)) * direction > 0);

/** The first rule that a record breaks. */
export const brokenBy = (rules: readonly Tightening[], values: Values): Tightening | undefined =>
  rules.find((rule) => rule.breaks(values));
