import type { SQLInputValue } from 'node:sqlite';
import type { Scalar } from '../../../domain/core/projection.ts';
import type { Filter, FilterField } from '../../../domain/expressions/filter-tree.ts';
import { keyOf } from '../../../domain/expressions/matches.ts';
import { pathKey } from '../searched.ts';

/** SQL text with bound parameters; the text never contains input. */
export interface Sql {
  readonly text: string;
  readonly params: readonly SQLInputValue[];
}

/**
 * A filter as a condition over the columns `id` and `s` (the searched fields, JSONB): 0 or 1, never NULL, so that NOT
 * works as in memory. Texts compare by bytes (SQLite's binary collation), booleans as 0 and 1.
 * @param now ms since 1970
 */
export function filterSql(filter: Filter, now: number): Sql {
  switch (filter.op) {
    case 'constant':
      return { text: filter.value ? '1' : '0', params: [] };
    case 'and':
    case 'or': {
      const parts = filter.of.map((each) => filterSql(each, now));
      const text = parts.map((part) => part.text).join(filter.op === 'and' ? ' AND ' : ' OR ');
      return { text: `(${text})`, params: parts.flatMap((part) => part.params) };
    }
    case 'not': {
      const { text, params } = filterSql(filter.of, now);
      return { text: `(NOT ${text})`, params };
    }
    case 'has':
      return around(filter.field, (field) => `(${field} IS NOT NULL)`, []);
    case '==':
      return around(filter.field, (field) => `(${field} IS ?)`, [bound(keyOf(filter.value, now))]);
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const { op } = filter;
      return around(filter.field, (field) => `ifnull(${field} ${op} ?, 0)`, [
        bound(keyOf(filter.value, now)),
      ]);
    }
    case 'in': {
      const marks = filter.values.map(() => '?').join(', ');
      const values = filter.values.map((value) => bound(keyOf(value, now)));
      return around(filter.field, (field) => `ifnull(${field} IN (${marks}), 0)`, values);
    }
    case 'contains':
      return around(filter.field, (field) => `ifnull(instr(${field}, ?) > 0, 0)`, [filter.text]);
    case 'startsWith':
      return around(filter.field, (field) => `ifnull(instr(${field}, ?) = 1, 0)`, [filter.text]);
    case 'endsWith':
      // Compares the last bytes: in UTF-8 they are equal only if whole characters are equal.
      return around(
        filter.field,
        (field) => `ifnull(substr(CAST(${field} AS BLOB), -?) = CAST(? AS BLOB), 0)`,
        [Buffer.byteLength(filter.text), filter.text],
      );
    default:
      return filter satisfies never;
  }
}

/** SQL of a field's stored value: a text, a number, or NULL. */
export function fieldSql(field: FilterField): Sql {
  const key = pathKey(field);
  if (!field.system) return { text: 'json_extract(s, ?)', params: [`$.keys."${key}"`] };
  return key === 'id' ? { text: 'id', params: [] } : { text: 'json_extract(s, ?)', params: [`$."${key}"`] };
}

export const bound = (value: Scalar): SQLInputValue => (typeof value === 'boolean' ? Number(value) : value);

function around(field: FilterField, text: (field: string) => string, params: SQLInputValue[]): Sql {
  const inner = fieldSql(field);
  return { text: text(inner.text), params: [...inner.params, ...params] };
}
