import type { SQLInputValue } from 'node:sqlite';
import type { SearchQuery } from '../../../application/ports/read-store.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import { compareKeys } from '../../../domain/expressions/compare.ts';
import { numberOf } from '../../sqlite/connection.ts';
import { searchedIndex } from '../searched.ts';
import { MISSING } from './field-index.ts';
import type { Sql } from './filter-sql.ts';
import type { PlanOf } from './plan.ts';
import { boundsOf, type Entries, type Place, placeOf, type Segment } from './segments.ts';
import { type Size, type Slice, type SliceSource, searchedRange } from './slices.ts';
import type { Tables } from './tables.ts';

/** Maximum of rows that are read without measuring their size. */
const UNSIZED = 32;

/** Reads the documents of segments, one segment after the other. */
export function segmentSlices(
  query: SearchQuery,
  plan: PlanOf<'lookup' | 'order'>,
  direction: 'ASC' | 'DESC',
): SliceSource {
  const begin = plan.kind === 'order' ? startOf(plan.segments, query) : { segments: plan.segments };
  const rest = [...begin.segments];
  let place = begin.after;
  return (tables, most) => {
    const [segment] = rest;
    if (segment === undefined) return { slice: undefined, size: undefined, isLast: true };
    const base = baseOf(tables, query, direction);
    if ('ids' in segment) {
      rest.shift();
      return { slice: sliceOf(base, segment), size: undefined, isLast: rest.length === 0 };
    }
    const part = partOf(base, segment, place, most);
    place = part.last;
    if (part.last === undefined) rest.shift();
    return { slice: part.slice, size: part.size, isLast: rest.length === 0 };
  };
}

/** The segments after a cursor, and the place in the first of them. */
export function startOf(
  segments: readonly Segment[],
  { after, sort }: SearchQuery,
): { segments: readonly Segment[]; after?: Place | undefined } {
  const value: Scalar | undefined = after?.values[0];
  if (after === undefined || value === undefined) return { segments };
  const isDown = sort?.direction === 'desc';
  const isMissing = (segment: Segment): boolean => !('ids' in segment) && segment.low?.value === MISSING;
  const first = segments.findIndex((segment) => isMissing(segment) === (value === null));
  // Missing values come first in ascending order, and last in descending order, so a cursor may be before or behind
  // all segments.
  if (first < 0) return { segments: (value === null) === isDown ? [] : segments };
  const rest = segments.slice(first);
  const place: Place = [value === null ? MISSING : whole(value), after.id];
  return { segments: rest, after: value !== null && isBefore(rest[0], value, isDown) ? undefined : place };
}

/** Whether a value comes before all values of a segment, in the direction of the sort. */
function isBefore(segment: Segment | undefined, value: string | number | boolean, isDown: boolean): boolean {
  const near = segment === undefined || 'ids' in segment ? undefined : isDown ? segment.high : segment.low;
  if (near === undefined || (typeof near.value !== 'string' && typeof near.value !== 'number')) return false;
  const distance = compareKeys(whole(value), near.value);
  return distance === 0 ? !near.inclusive : distance < 0 !== isDown;
}

/** The value of a cursor in the form of entries, not truncated: entries read in this order hold whole values. */
const whole = (value: string | number | boolean): string | number =>
  typeof value === 'boolean' ? Number(value) : value;

/** Values that all slices of one search share. */
interface Base {
  readonly tables: Tables;
  readonly tenant: string;
  readonly key: string;
  readonly direction: 'ASC' | 'DESC';
  readonly within: string;
  readonly range: readonly SQLInputValue[];
}

export function baseOf(tables: Tables, query: SearchQuery, direction: 'ASC' | 'DESC'): Base {
  const { plan, at } = searchedIndex(tables, query);
  const { low, high } = searchedRange(plan, query);
  const [key, { tenant }] = [`k${at}`, query];
  return {
    tables,
    tenant,
    key,
    direction,
    within: `${key} > ? AND ${key} < ?`,
    range: [low, high],
  };
}

/** The documents of a segment. @param after the place in the segment after which the slice begins */
export const sliceOf = (base: Base, segment: Segment, after?: Place): Slice =>
  'ids' in segment
    ? ofIds(base, segment.ids)
    : ofEntries(base, boundsOf(segment, after, undefined, base.direction));

/** The documents of the entries that a condition selects. */
function ofEntries({ tables, tenant, within, range, ...base }: Base, entries: Sql): Slice {
  const [place, isThere] = tables.namesRows ? ['row', 'row = place'] : ['NULL', 'id = wanted'];
  return {
    ...base,
    table: `(SELECT value AS at, id AS wanted, ${place} AS place FROM f${tables.number} WHERE ${entries.text}) CROSS JOIN d${tables.number}`,
    where: `tenant = ? AND ${isThere} AND ${within}`,
    params: [...entries.params, tenant, ...range],
    at: 'at',
  };
}

function ofIds({ tables, tenant, within, range, ...base }: Base, ids: readonly string[]): Slice {
  return {
    ...base,
    table: `d${tables.number}`,
    where: `tenant = ? AND id IN (${ids.map(() => '?').join(', ')}) AND ${within}`,
    params: [tenant, ...ids, ...range],
    at: 'NULL',
  };
}

function partOf(
  base: Base,
  segment: Entries,
  place: Place | undefined,
  most: Size,
): { slice: Slice; size: Size; last: Place | undefined } {
  const { tables, direction } = base;
  for (let rows = most.rows; ; rows = Math.max(1, Math.floor(rows / 2))) {
    const last = placeOf(tables, segment, place, rows, direction);
    const chunk = boundsOf(segment, place, last, direction);
    const slice = ofEntries(base, chunk);
    let { bytes } = most;
    if (rows > UNSIZED) {
      const sized = tables.connection.prepare(
        `SELECT ifnull(sum(octet_length(s)), 0) AS bytes FROM ${slice.table} WHERE ${slice.where}`,
      );
      bytes = numberOf(sized.get(...slice.params), 'bytes');
      if (bytes > most.bytes) continue;
    }
    return { slice, size: { rows, bytes }, last };
  }
}
