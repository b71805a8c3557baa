import { truncate } from '../../../domain/core/text.ts';
import type { Field, JsonValue, Values } from '../../../domain/entities/fields.ts';
import type { SchemaDefinition } from '../../../domain/entities/schema.ts';
import { streamSafe } from './stream-safe.ts';

export interface TitledText {
  readonly title: string;
  readonly text: string;
}

const TITLE_CHARACTERS = 160;
/** Keys of fields that name a record, best first. */
const NAMING = ['name', 'title', 'subject', 'display_name', 'company', 'reference', 'number', 'code'];

/**
 * Renders a record as `label: value` lines in the order of the schema; the title is the entity's label and the record's
 * name. Leaves out fields of type reference and user: their values are ids, and names of people are personal.
 */
export const recordText = (
  { label, fields }: Pick<SchemaDefinition, 'label' | 'fields'>,
  values: Values,
): TitledText => {
  const lines = fields.flatMap((field) => {
    const shown = streamSafe(shownValue(field, values[field.key]));
    return shown === '' ? [] : [{ field, shown, line: `${field.label}: ${shown}` }];
  });
  const named =
    NAMING.flatMap((key) => lines.filter(({ field }) => field.key === key)).at(0) ??
    lines.find(({ field }) => field.type === 'text');
  const name = named === undefined ? '' : truncate(named.shown.replace(/\s+/g, ' '), TITLE_CHARACTERS);
  return {
    title: name === '' ? label : `${label}: ${name}`,
    text: lines.map(({ line }) => line).join('\n'),
  };
};

/** Empty for a value that is left out. */
const shownValue = ({ type }: Field, value: JsonValue | undefined): string => {
  if (value === undefined || value === null) return '';
  switch (type) {
    case 'reference':
    case 'user':
      return '';
    case 'boolean':
      return value === true ? 'yes' : 'no';
    case 'json':
      return JSON.stringify(value);
    case 'text':
    case 'long_text':
    case 'enum':
    case 'integer':
    case 'decimal':
    case 'date':
    case 'datetime':
      return String(value).trim();
    default:
      return type satisfies never;
  }
};
