import { invalidAt } from '../core/errors.ts';
import type { SortField } from './filter-tree.ts';
import { type FieldSpecs, isSystemField, typeOfField } from './tree.ts';

export type { SortField } from './filter-tree.ts';

/**
 * Parses `?sort=field` or `?sort=-field` (decisions, section 6). The field can be any field that a filter can use,
 * except fields of type `json`. Enums sort by their texts.
 * @throws `validation_failed`
 */
export function parseSort(text: string, fields: FieldSpecs): SortField {
  const direction = text.startsWith('-') ? 'desc' : 'asc';
  const key = direction === 'desc' ? text.slice(1) : text;
  const type = typeOfField(fields, key);
  if (type === undefined || type === 'json') {
    throw invalidAt('sort', 'invalid', 'This field does not exist or cannot be sorted by.');
  }
  return { field: { key, type, system: isSystemField(key) }, direction };
}
