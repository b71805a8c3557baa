import type { SQLInputValue } from 'node:sqlite';
import { LIMIT_CLAUSE, numberOf, textOf } from '../../sqlite/connection.ts';
import type { Span } from '../field-access.ts';
import { type IndexedField, MISSING } from './field-index.ts';
import { bound, type Sql } from './filter-sql.ts';
import type { Tables } from './tables.ts';

/** A part of the index over fields, or documents by id. */
export type Segment = Entries | { readonly ids: readonly string[] };
export interface Entries {
  readonly field: number;
  readonly low?: End | undefined;
  readonly high?: End | undefined;
}
interface End {
  readonly value: SQLInputValue;
  readonly inclusive: boolean;
}
/** The place of an entry among those of its field. */
export type Place = readonly [value: SQLInputValue, id: string];

export const PRESENT_END: End = { value: MISSING, inclusive: false };

export const missingIn = ({ number }: IndexedField): Segment => ({
  field: number,
  low: { value: MISSING, inclusive: true },
});

/** The entries of a field in a span of values. */
export const segmentOf = (field: number, { low, high }: Span): Segment => ({
  field,
  low: low === undefined ? undefined : { ...low, value: bound(low.value) },
  high: high === undefined ? PRESENT_END : { ...high, value: bound(high.value) },
});

/** Counts the entries of a segment, up to `most`. */
export type CountEntries = (tables: Tables, segment: Segment, most: number) => number;

/** @param after the place after which the count begins */
export function entriesIn(tables: Tables, segment: Segment, most: number, after?: Place): number {
  if ('ids' in segment) return segment.ids.length;
  const { text, params } = boundsOf(segment, after, undefined, 'ASC');
  const counted = tables.connection.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM f${tables.number} WHERE ${text} ${LIMIT_CLAUSE})`,
  );
  return numberOf(counted.get(...params, most), 'n');
}

/** The condition of a segment's entries. */
function segmentSql({ field, low, high }: Entries): Sql {
  const parts = ['field = ?'];
  const params: SQLInputValue[] = [field];
  if (low !== undefined) {
    parts.push(`value ${low.inclusive ? '>=' : '>'} ?`);
    params.push(low.value);
  }
  if (high !== undefined) {
    parts.push(`value ${high.inclusive ? '<=' : '<'} ?`);
    params.push(high.value);
  }
  return { text: parts.join(' AND '), params };
}

/** The place of the nth entry of a segment after a place; undefined if there are fewer. */
export function placeOf(
  tables: Tables,
  segment: Entries,
  after: Place | undefined,
  nth: number,
  direction: 'ASC' | 'DESC',
): Place | undefined {
  const { text, params } = boundsOf(segment, after, undefined, direction);
  const found = tables.connection.prepare(
    `SELECT value, id FROM f${tables.number} WHERE ${text} ORDER BY value ${direction}, id ${direction} LIMIT 1 OFFSET ?`,
  );
  const row = found.get(...params, nth - 1);
  return row === undefined ? undefined : [row.value ?? null, textOf(row, 'id')];
}

/** Entries of a segment after one place and up to another, with one bound on each side: SQLite seeks by one only. */
export function boundsOf(
  { field, low, high }: Entries,
  after: Place | undefined,
  last: Place | undefined,
  direction: 'ASC' | 'DESC',
): Sql {
  const [before, behind] = direction === 'ASC' ? [after, last] : [last, after];
  const { text, params } = segmentSql({
    field,
    low: before === undefined ? low : undefined,
    high: behind === undefined ? high : undefined,
  });
  const places: string[] = [text];
  if (before !== undefined) places.push(`(value, id) ${direction === 'ASC' ? '>' : '>='} (?, ?)`);
  if (behind !== undefined) places.push(`(value, id) ${direction === 'ASC' ? '<=' : '<'} (?, ?)`);
  return { text: places.join(' AND '), params: [...params, ...(before ?? []), ...(behind ?? [])] };
}
