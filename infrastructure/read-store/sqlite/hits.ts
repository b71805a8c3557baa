import type { Cursor, SearchQuery, Selection } from '../../../application/ports/read-store.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import { compareKeys, compareText } from '../../../domain/expressions/compare.ts';
import { cursorOf, type IndexPlan } from '../index-keys.ts';
import { sortedAfter } from '../searched.ts';
import { bound, fieldSql, filterSql, type Sql } from './filter-sql.ts';

/** The rows that a search finds, and their order. */

/** A found row. */
export interface Hit {
  readonly id: string;
  /** The value of the sort, or the key of the query's index. */
  readonly value: Scalar;
}

export const isDescending = ({ sort, order }: SearchQuery): boolean => (sort?.direction ?? order) === 'desc';

/** The cursor of a page that ends with a row. */
export function endOf(plan: IndexPlan, { sort, equals }: SearchQuery, { id, value }: Hit): Cursor {
  return sort === undefined ? cursorOf(plan, String(value), equals?.length ?? 0) : { values: [value], id };
}

/** Keeps only the first of several hits of one document. */
export function distinct<H extends Hit>(hits: readonly H[]): H[] {
  const seen = new Set<string>();
  return hits.filter(({ id }) => seen.size < seen.add(id).size);
}

export function conditionOf({ filter, now }: Selection): Sql {
  return filter === undefined ? { text: '1', params: [] } : filterSql(filter, now);
}

/**
 * The condition of rows after a sorted search's cursor. Missing values come first in ascending order, and last in
 * descending order.
 */
export function afterSql({ sort, after }: SearchQuery): Sql {
  const end = sort === undefined ? undefined : sortedAfter(after, sort);
  if (sort === undefined || end === undefined) return { text: '1', params: [] };
  const { text, params } = fieldSql(sort.field);
  const down = sort.direction === 'desc';
  const beyond = down ? '<' : '>';
  if (end.value === null) {
    const none = `(${text} IS NULL AND id ${beyond} ?)`;
    if (down) return { text: none, params: [...params, end.id] };
    return { text: `(${text} IS NOT NULL OR ${none})`, params: [...params, ...params, end.id] };
  }
  const value = bound(end.value);
  const later = `ifnull(${text} ${beyond} ?, ${down ? 1 : 0})`;
  return {
    text: `(${later} OR (${text} IS ? AND id ${beyond} ?))`,
    params: [...params, value, ...params, value, end.id],
  };
}

/** Converts a value of the sort from the form in which the database returns it. */
export function sortedValue(sorted: unknown, isBoolean: boolean): Scalar {
  if (typeof sorted === 'number') return isBoolean ? sorted !== 0 : sorted;
  return typeof sorted === 'string' ? sorted : null;
}

export const inOrder =
  (descending: boolean) =>
  (a: Hit, b: Hit): number => {
    const order = byValue(a.value, b.value) || compareText(a.id, b.id);
    return descending ? -order : order;
  };

function byValue(a: Scalar, b: Scalar): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareKeys(a, b);
}
