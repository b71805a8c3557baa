import { z } from 'zod';
import type { FieldIssue } from '../core/errors.ts';
import { defined } from '../core/event.ts';
import { listOf } from '../core/list-schema.ts';
import { codePoints, isStorableText } from '../core/text.ts';
import { KEYWORDS } from '../expressions/tree.ts';
import { type Field, fieldType, isName, MAX_LONG_TEXT, NAME_RULE, ON_DELETE } from './fields.ts';
import { checkValue, compareDecimals, isDecimal } from './values.ts';

/** Checks a schema from a request (decisions, section 6, Schema). Unknown keys are refused. */

const MAX_FIELDS = 200;
const MAX_OPTIONS = 200;
const MAX_LABEL = 200;
/** Maximum length of the JSON of a schema's fields in characters; keeps events, and lists of schemas, small. */
const MAX_DEFINITION_CHARACTERS = 128 * 1024;

const name = z.string().refine(isName, NAME_RULE);
const label = z
  .string()
  .refine(
    (text) => text.trim() !== '' && codePoints(text) <= MAX_LABEL && isStorableText(text),
    `A label must have 1 to ${MAX_LABEL} characters and must not be blank.`,
  );

/** Names that no field can have, because records, filters, expressions or JavaScript objects use them. */
const RESERVED: ReadonlySet<string> = new Set([
  'tenant_id',
  'id',
  'state',
  'version',
  'created_at',
  'updated_at',
  'created_by',
  'job_id',
  'entity_name',
  'values',
  'constructor',
  'prototype',
  ...KEYWORDS,
]);

const fieldDefinition = z.strictObject({
  key: name.refine((key) => !RESERVED.has(key), 'This name is reserved.'),
  label,
  type: fieldType,
  required: z.boolean().default(false),
  options: listOf(
    z
      .string()
      .refine(
        (option) => option !== '' && codePoints(option) <= MAX_LABEL && isStorableText(option),
        `An option has 1 to ${MAX_LABEL} characters.`,
      ),
    { max: MAX_OPTIONS },
  ).optional(),
  /** Checked like a value of the field. */
  default: z.unknown().optional(),
  min: z.union([z.number(), z.string().max(100)]).optional(),
  max: z.union([z.number(), z.string().max(100)]).optional(),
  max_length: z.int().min(1).max(MAX_LONG_TEXT).optional(),
  reference: z.strictObject({ entity_name: name, on_delete: z.enum(ON_DELETE) }).optional(),
});
type FieldDefinition = z.output<typeof fieldDefinition>;

const fields = listOf(fieldDefinition, { max: MAX_FIELDS });
const workflow = name.nullable().optional();

export const newEntity = z.strictObject({ name, label, fields, workflow });
export const entityChange = z.strictObject({
  label: label.optional(),
  fields: fields.optional(),
  workflow,
});
export type NewEntity = z.output<typeof newEntity>;
export type EntityChange = z.output<typeof entityChange>;

/** Keys that only fields of the listed types may have. */
const OWN_KEYS = {
  options: ['enum'],
  min: ['integer', 'decimal'],
  max: ['integer', 'decimal'],
  max_length: ['text', 'long_text'],
  reference: ['reference'],
} as const satisfies Partial<Record<keyof FieldDefinition, readonly Field['type'][]>>;

/** A bound in the form of the field's values: decimals as texts. */
const bound = (type: Field['type'], value: string | number | undefined): string | number | undefined =>
  type === 'decimal' && typeof value === 'number' ? String(value) : value;

const stored = ({ default: _given, min, max, ...field }: FieldDefinition): Field => ({
  ...field,
  ...defined({ min: bound(field.type, min), max: bound(field.type, max) }),
});

/** Converts fields to the stored form and lists every issue; the `path` of an issue points into the request's body. */
export const checkFields = (
  definitions: readonly FieldDefinition[],
): { readonly fields: readonly Field[]; readonly issues: readonly FieldIssue[] } => {
  const issues: FieldIssue[] = [];
  const seen = new Set<string>();
  const kept = definitions.map((definition, index) => {
    const field = stored(definition);
    const add = (key: string, code: string, message: string): void => {
      issues.push({ path: `fields.${index}.${key}`, code, message });
    };
    if (seen.has(field.key)) add('key', 'duplicate', `The field ${field.key} is defined twice.`);
    seen.add(field.key);
    checkField(field, add);
    return withDefault(field, definition.default, add);
  });
  if (JSON.stringify(kept).length > MAX_DEFINITION_CHARACTERS) {
    const message = `A schema has at most ${MAX_DEFINITION_CHARACTERS} characters as JSON.`;
    issues.push({ path: 'fields', code: 'too_big', message });
  }
  return { fields: kept, issues };
};

type Add = (key: string, code: string, message: string) => void;

const checkField = (field: Field, add: Add): void => {
  for (const [key, types] of Object.entries(OWN_KEYS)) {
    if (field[key as keyof typeof OWN_KEYS] !== undefined && !types.some((type) => type === field.type)) {
      add(key, 'unexpected', `A field of type ${field.type} has no ${key}.`);
    }
  }
  if (field.type === 'enum') checkOptions(field.options ?? [], add);
  if (field.type === 'reference') {
    if (field.reference === undefined)
      add('reference', 'missing_required', 'A reference must name its entity.');
    else if (field.required && field.reference.on_delete === 'clear') {
      add('reference.on_delete', 'unexpected', 'A required reference cannot be cleared on deletion.');
    }
  }
  checkBounds(field, add);
};

const checkOptions = (options: readonly string[], add: Add): void => {
  if (options.length === 0) add('options', 'missing_required', 'An enum needs at least one option.');
  if (new Set(options).size !== options.length) add('options', 'duplicate', 'Options must be distinct.');
};

const checkBounds = ({ type, min, max }: Field, add: Add): void => {
  const isBound = (value: string | number): boolean =>
    type === 'decimal'
      ? typeof value === 'string' && isDecimal(value)
      : typeof value === 'number' && Number.isSafeInteger(value);
  if (type !== 'integer' && type !== 'decimal') return;
  let fine = true;
  for (const [key, value] of Object.entries({ min, max })) {
    if (value === undefined || isBound(value)) continue;
    fine = false;
    add(key, 'type_mismatch', `A bound must have the type of its field.`);
  }
  if (!fine || min === undefined || max === undefined) return;
  if (compareDecimals(String(min), String(max)) > 0) add('max', 'too_small', 'max must not be below min.');
};

/** Checks a default like a value of its field; null means no default. */
const withDefault = (field: Field, given: unknown, add: Add): Field => {
  if (given === undefined || given === null) return field;
  if (field.type === 'reference' || field.type === 'user') {
    add('default', 'unexpected', `A field of type ${field.type} has no default.`);
    return field;
  }
  const checked = checkValue(field, given);
  if ('value' in checked) return { ...field, default: checked.value };
  add('default', checked.misfit.code, checked.misfit.message);
  return field;
};
