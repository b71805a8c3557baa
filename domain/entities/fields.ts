import { z } from 'zod';
import { FIELD_TYPES, type FieldType } from '../expressions/tree.ts';

/** Fields of an entity: their types, limits and stored form (decisions, section 6, Schema). */

export { FIELD_TYPES, type FieldType };
export const fieldType = z.enum(FIELD_TYPES);

/** Effect on a referrer when the record it points to is deleted. */
export const ON_DELETE = ['restrict', 'clear', 'cascade'] as const;

export const json = z.json();
export type JsonValue = z.output<typeof json>;

/** A record's values by field key; a field without a value has no entry. */
export const valuesSchema = z.record(z.string(), json);
export type Values = Readonly<Record<string, JsonValue>>;

/** Types of the fields that have a value; folds use them for order keys and references. */
export const typesSchema = z.record(z.string(), fieldType);
export type Types = Readonly<Record<string, FieldType>>;

/** A field as stored, checked by `definition.ts`. */
export const storedField = z.object({
  key: z.string(),
  label: z.string(),
  type: fieldType,
  required: z.boolean(),
  /** Enums only. */
  options: z.array(z.string()).optional(),
  default: json.optional(),
  /** Numbers for an integer, decimal texts for a decimal. */
  min: z.union([z.number(), z.string()]).optional(),
  max: z.union([z.number(), z.string()]).optional(),
  /** Maximum length of a text in code points. */
  max_length: z.number().optional(),
  reference: z.object({ entity_name: z.string(), on_delete: z.enum(ON_DELETE) }).optional(),
});
export type Field = z.output<typeof storedField>;

/** The form of names of entities, workflows and fields. */
export const NAME = /^[a-z][a-z0-9_]{0,62}$/;
export const isName = (text: string): boolean => NAME.test(text);
export const NAME_RULE = 'This must match ^[a-z][a-z0-9_]{0,62}$.';

/** Maximum length of a `text` value in code points; a greater `max_length` of the field does not raise it. */
export const MAX_TEXT = 10_000;
export const MAX_LONG_TEXT = 100_000;

/** Sorts values by the order of the entity's fields, since the log sorts by key. Values of former fields come last. */
export const inOrder = (fields: readonly Pick<Field, 'key'>[], values: Values): Values => {
  const ordered: Record<string, JsonValue> = {};
  for (const { key } of fields) {
    const value = Object.hasOwn(values, key) ? values[key] : undefined;
    if (value !== undefined) ordered[key] = value;
  }
  return { ...ordered, ...values };
};
