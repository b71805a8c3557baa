import type { SQLInputValue } from 'node:sqlite';
import { LIMIT_CLAUSE, numberOf } from '../../sqlite/connection.ts';
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

export function entriesIn(tables: Tables, segment: Segment, most: number): number {
  if ('ids' in segment) return segment.ids.length;
  const { text, params } = segmentSql(segment);
  const counted = tables.connection.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM f${tables.number} WHERE ${text} ${LIMIT_CLAUSE})`,
  );
  return numberOf(counted.get(...params, most), 'n');
}

/** The condition of a segment's entries. */
export function segmentSql({ field, low, high }: Entries): Sql {
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
