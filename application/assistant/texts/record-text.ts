import type { Field, JsonValue, Values } from '../../../domain/entities/fields.ts';
import { streamSafe } from './stream-safe.ts';

/** What a schema says of a record's fields. */
export interface RecordSchema {
  readonly label: string;
  readonly fields: readonly Field[];
}

export interface TitledText {
  readonly title: string;
  readonly text: string;
}

const TITLE_CHARACTERS = 160;
/** Fields that name a record, by their keys, best first. */
const NAMING = ['name', 'title', 'subject', 'display_name', 'company', 'reference', 'number', 'code'];

/**
 * A record as `label: value` lines in the order of the schema; its title is the entity's label and what the record is
 * called. References and users are ids and say nothing to who asks; names of people are personal and stay out.
 */
export const recordText = ({ label, fields }: RecordSchema, values: Values): TitledText => {
  const lines = fields.flatMap((field) => {
    const shown = streamSafe(shownValue(field, values[field.key]));
    return shown === '' ? [] : [{ field, shown, line: `${field.label}: ${shown}` }];
  });
  const named =
    NAMING.flatMap((key) => lines.filter(({ field }) => field.key === key)).at(0) ??
    lines.find(({ field }) => field.type === 'text');
  const name = named === undefined ? '' : cut(named.shown.replace(/\s+/g, ' '), TITLE_CHARACTERS);
  return {
    title: name === '' ? label : `${label}: ${name}`,
    text: lines.map(({ line }) => line).join('\n'),
  };
};

/** Empty for what is not shown. */
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

/** At most so many code points. */
const cut = (text: string, characters: number): string => [...text].slice(0, characters).join('');
