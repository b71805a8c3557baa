import { invalid } from '../core/errors.ts';
import type { SortField } from './filter-tree.ts';
import { type FieldSpecs, isSystemField, typeOfField } from './tree.ts';

export type { SortField } from './filter-tree.ts';

/**
 * `?sort=field` or `?sort=-field` (decisions, section 6): every field but json, and those that a filter sees.
 * Enums order by their texts.
 * @throws `validation_failed`
 */
export function parseSort(text: string, fields: FieldSpecs): SortField {
  const direction = text.startsWith('-') ? 'desc' : 'asc';
  const key = direction === 'desc' ? text.slice(1) : text;
  const type = typeOfField(fields, key);
  if (type === undefined || type === 'json') {
    throw invalid([{ path: 'sort', code: 'invalid', message: 'There is no such field to sort by.' }]);
  }
  return { field: { key, type, system: isSystemField(key) }, direction };
}
