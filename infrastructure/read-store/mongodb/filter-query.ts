import type { Document } from 'mongodb';
import type { Filter, FilterField } from '../../../domain/expressions/filter-tree.ts';
import { keyOf } from '../../../domain/expressions/matches.ts';
import { pathKey } from '../searched.ts';
import { fieldOf } from './native-documents.ts';

/**
 * A filter as a MongoDB query over the fields of `searchedFields` (searched.ts). Uses operators that every MongoDB
 * and FerretDB 1.24 support. Order operators compare within one type and never match a missing field; `s` contains no
 * null, so "no value" means exactly "does not exist".
 * @param now ms since 1970
 */
export function filterQuery(filter: Filter, now: number): Document {
  switch (filter.op) {
    case 'constant':
      return { doc_id: { $exists: filter.value } };
    case 'and':
      return { $and: filter.of.map((each) => filterQuery(each, now)) };
    case 'or':
      return { $or: filter.of.map((each) => filterQuery(each, now)) };
    case 'not':
      return { $nor: [filterQuery(filter.of, now)] };
    case 'has':
      return { [fieldPath(filter.field)]: { $exists: true } };
    case '==':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return { [fieldPath(filter.field)]: { [COMPARISONS[filter.op]]: keyOf(filter.value, now) } };
    case 'in':
      return { [fieldPath(filter.field)]: { $in: filter.values.map((value) => keyOf(value, now)) } };
    case 'contains':
      return { [fieldPath(filter.field)]: { $regex: literally(filter.text) } };
    case 'startsWith':
      return { [fieldPath(filter.field)]: { $regex: `^${literally(filter.text)}` } };
    case 'endsWith':
      // `$` would also match before a line feed at the end of the text.
      return { [fieldPath(filter.field)]: { $regex: `${literally(filter.text)}\\z` } };
    default:
      return filter satisfies never;
  }
}

const COMPARISONS = { '==': '$eq', '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const;

export function fieldPath(field: FilterField): string {
  const key = pathKey(field);
  if (!field.system) return `s.keys.${fieldOf(key)}`;
  return key === 'id' ? 'doc_id' : `s.${key}`;
}

/** A pattern that matches exactly the text; filters contain no NUL. */
const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/#-]/g, '\\$&');
