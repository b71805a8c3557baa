import type { FieldIssue } from '../core/errors.ts';
import type { Field } from '../entities/fields.ts';
import { type Input, resolve } from '../entities/record-values.ts';
import type { FormField } from './form.ts';

/** Checks a form's fields against the fields of its entity (decisions, section 6, Form). */

/**
 * Types of fields in a public form. References and users are excluded so that ids cannot be probed; `json` has no
 * input element.
 */
export const FILLABLE = [
  'text',
  'long_text',
  'integer',
  'decimal',
  'boolean',
  'date',
  'datetime',
  'enum',
] as const;
type FillableType = (typeof FILLABLE)[number];

const isFillable = (type: Field['type']): type is FillableType => FILLABLE.some((each) => each === type);

/** Whether a value is required and has no default. */
const needsValue = ({ required, default: fallback }: Field): boolean => required && fallback === undefined;

type Keyed = Pick<FormField, 'field_key'>;

/** An issue for each duplicate field key. */
export const duplicates = (fields: readonly Keyed[]): FieldIssue[] => {
  const seen = new Set<string>();
  return fields.flatMap(({ field_key: key }, index) => {
    if (!seen.has(key)) {
      seen.add(key);
      return [];
    }
    const message = `The form already has the field ${key}.`;
    return [{ path: `fields.${index}.field_key`, code: 'duplicate', message }];
  });
};

/** Issues of fields that the entity lacks, or that a public form cannot offer. */
export const misplaced = (fields: readonly Keyed[], entity: readonly Field[]): FieldIssue[] => {
  const byKey = new Map(entity.map((field) => [field.key, field]));
  return fields.flatMap(({ field_key: key }, index) => {
    const path = `fields.${index}.field_key`;
    const field = byKey.get(key);
    if (field === undefined)
      return [{ path, code: 'unknown_field', message: 'The entity has no such field.' }];
    if (isFillable(field.type)) return [];
    const message = `A public form cannot have a field of type ${field.type}.`;
    return [{ path, code: 'type_mismatch', message }];
  });
};

/** Issues of required fields without a default that the form lacks. */
export const lacking = (fields: readonly Keyed[], entity: readonly Field[]): FieldIssue[] => {
  const has = new Set(fields.map(({ field_key }) => field_key));
  return entity
    .filter((field) => needsValue(field) && !has.has(field.key))
    .map(({ key }) => ({
      path: 'fields',
      code: 'missing_required',
      message: `The entity requires the field ${key}, which the form does not have.`,
    }));
};

/** A field as the form's page shows it. */
export interface PublicField {
  readonly key: string;
  readonly label: string;
  readonly type: FillableType;
  /** Required by the form, or by the entity without a default. */
  readonly required: boolean;
  readonly options?: readonly string[] | undefined;
  readonly maxLength?: number | undefined;
  readonly min?: string | number | undefined;
  readonly max?: string | number | undefined;
  /** If `true`, the page shows the checkbox ticked: an unticked checkbox would replace the default by `false`. */
  readonly default?: Field['default'];
  /** Required by the form itself, not only by the entity; a checkbox must then be ticked. */
  readonly requiredByForm: boolean;
}

/** The form's fields that the entity still has with a fillable type, in their present version. */
export const publicFields = (fields: readonly FormField[], entity: readonly Field[]): PublicField[] => {
  const byKey = new Map(entity.map((field) => [field.key, field]));
  return fields.flatMap(({ field_key: key, label, required }) => {
    const field = byKey.get(key);
    if (field === undefined || !isFillable(field.type)) return [];
    const { type, options, max_length: maxLength, min, max } = field;
    const shown = { key, label, type, required: required || needsValue(field), requiredByForm: required };
    return [{ ...shown, options, maxLength, min, max, default: field.default }];
  });
};

const MAX_ISSUES = 100;
/** Length at which issues truncate a key from a submission. */
const MAX_KEY = 100;

/**
 * The issues of a submission that form and entity find, if the form finds at least one issue. Otherwise empty, because
 * creating the record reports the issues that the entity finds.
 * @param isRefused also lists the entity's issues when the form finds none
 */
export const submissionIssues = (
  fields: readonly PublicField[],
  entity: readonly Field[],
  values: Input,
  isRefused = false,
): FieldIssue[] => {
  const known = new Set(fields.map(({ key }) => key));
  const missing = fields.filter(({ key, requiredByForm }) => {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    return requiredByForm && (value === undefined || value === null || value === '');
  });
  const own = [
    ...missing.map(({ key }) => ({
      key,
      code: 'missing_required',
      message: 'This field must have a value.',
    })),
    ...Object.keys(values)
      .filter((key) => !known.has(key))
      .slice(0, MAX_ISSUES)
      .map((key) => ({ key, code: 'unknown_field', message: 'The form has no such field.' })),
  ];
  if (own.length === 0 && !isRefused) return [];
  const said = new Set(own.map(({ key }) => key));
  const others = resolve(entity, undefined, values).misfits.filter(({ key }) => !said.has(key));
  return [...own, ...others].slice(0, MAX_ISSUES).map(({ key, code, message }) => {
    return { path: `values.${key.slice(0, MAX_KEY).toWellFormed()}`, code, message };
  });
};
