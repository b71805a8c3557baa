import type { SQLInputValue } from 'node:sqlite';
import type { SearchQuery } from '../../../application/ports/read-store.ts';
import { SearchGivenUp } from '../../../application/ports/searches.ts';
import { LIMIT_CLAUSE, numberOf, optionalTextOf, type SqliteConnection } from '../../sqlite/connection.ts';
import { type IndexPlan, type KeyRange, rangeOf } from '../index-keys.ts';
import { searchedIndex } from '../searched.ts';
import type { Plan, PlanLimits } from './plan.ts';
import type { Tables } from './tables.ts';

/**
 * Searches scan an index range in slices, one statement each, with a tick in between, because SQLite blocks this
 * thread. Slices start small. Each is sized to take about `sliceMs` of processor time, and is at most twice as large as
 * the one before. Their size is limited in rows and in bytes of searched fields.
 */
export interface SliceLimits {
  readonly firstRows: number;
  readonly sliceMs: number;
  /** For tests: called after each slice. */
  readonly onSlice?: ((slice: { readonly rows: number; readonly bytes: number }) => void) | undefined;
}

const MOST_ROWS = 4_000;
const FIRST_BYTES = 256 * 1024;
/** Minimum of the limit in bytes. */
const LEAST_BYTES = 64 * 1024;

/** Runs one step; undefined for an unknown generation. */
export type ReadStep = <T>(step: (tables: Tables) => T) => Promise<T | undefined>;

/** A running search. */
export interface RunningSearch {
  readonly step: ReadStep;
  readonly limits: SliceLimits & PlanLimits;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Waits for this search's next slice. */
  readonly nextSlice: () => Promise<void>;
  /** Chosen before the search began. */
  readonly plan?: Plan | undefined;
}

export interface Slice {
  readonly table: string;
  /** The index column. */
  readonly key: string;
  readonly direction: 'ASC' | 'DESC';
  readonly where: string;
  readonly params: readonly SQLInputValue[];
  /** The column with the value of an entry; NULL for rows that are read without an entry. */
  readonly at: string;
}

/** Takes the next slice of the rows of a search. */
export type SliceSource = (
  tables: Tables,
  most: Size,
) => {
  /** Undefined when no rows are left. */
  readonly slice: Slice | undefined;
  /** Undefined for a slice that is not measured. */
  readonly size: Size | undefined;
  readonly isLast: boolean;
};

/** Whether a page is in the index's order and unfiltered: it then needs no scan. */
export const isPlain = ({ filter, sort }: SearchQuery): boolean => filter === undefined && sort === undefined;

/**
 * The range that a search scans. A sorted search scans the whole range for each page, since its cursor has another
 * order.
 */
export function searchedRange(plan: IndexPlan, query: SearchQuery): KeyRange {
  return rangeOf(plan, query.sort === undefined ? query : { ...query, after: undefined, order: 'asc' });
}

/** Slices of the range of the query's index. @param whole makes the range one slice */
export function rangeSlices(query: SearchQuery, whole: boolean): SliceSource {
  let rest: KeyRange | undefined;
  return (tables, most) => {
    const { plan, at } = searchedIndex(tables, query);
    rest ??= searchedRange(plan, query);
    const [table, key] = [`d${tables.number}`, `k${at}`];
    const { low, high, descending } = rest;
    const direction = descending ? 'DESC' : 'ASC';
    const part = { table, key, direction, at: 'NULL' } as const;
    const size = whole ? undefined : sizeOf(tables.connection, part, [query.tenant, low, high], most);
    const last = size?.last;
    // One bound per side: with two bounds on one side, SQLite would seek by one and scan to the other.
    const bounds = last === undefined ? ['>', '<'] : descending ? ['>=', '<'] : ['>', '<='];
    const where = `tenant = ? AND ${key} ${bounds[0]} ? AND ${key} ${bounds[1]} ?`;
    const ends = descending ? [last ?? low, high] : [low, last ?? high];
    if (last !== undefined) rest = descending ? { ...rest, high: last } : { ...rest, low: last };
    return {
      slice: { ...part, where, params: [query.tenant, ...ends] },
      size,
      isLast: last === undefined,
    };
  };
}

/**
 * Runs `look` on each slice until it returns true; false for an unknown generation.
 * @throws {SearchGivenUp} after the deadline
 */
export async function slices(
  { step, limits, deadline, nextSlice }: RunningSearch,
  source: SliceSource,
  look: (slice: Slice, connection: SqliteConnection) => boolean,
): Promise<boolean> {
  let most = { rows: limits.firstRows, bytes: FIRST_BYTES };
  for (;;) {
    checkDeadline(deadline);
    const done = await step((tables) => {
      const began = process.threadCpuUsage();
      const { slice, size, isLast } = source(tables, most);
      const enough = slice === undefined || look(slice, tables.connection);
      if (size !== undefined) {
        const used = process.threadCpuUsage(began);
        const took = (used.user + used.system) / 1000;
        most = grown(most, size, Math.min(2, limits.sliceMs / took));
        limits.onSlice?.(size);
      }
      return { over: enough || isLast };
    });
    if (done === undefined) return false;
    if (done.over) return true;
    await nextSlice();
  }
}

/** @throws {SearchGivenUp} */
export function checkDeadline(deadline: number): void {
  if (performance.now() > deadline) throw new SearchGivenUp('a search took too long');
}

export interface Size {
  readonly rows: number;
  readonly bytes: number;
}

function grown(most: Size, last: Size, growth: number): Size {
  return {
    rows: Math.min(MOST_ROWS, Math.max(1, Math.floor(most.rows * growth))),
    bytes: Math.max(LEAST_BYTES, Math.floor(last.bytes * growth)),
  };
}

/** Size of the next slice: at least one row; `last` is its last key when more may follow. */
function sizeOf(
  connection: SqliteConnection,
  { table, key, direction }: Pick<Slice, 'table' | 'key' | 'direction'>,
  range: readonly string[],
  most: Size,
): Size & { readonly last: string | undefined } {
  const sized = connection.prepare(
    `SELECT ${direction === 'DESC' ? 'min' : 'max'}(key) AS last, count(*) AS n, ifnull(sum(bytes), 0) AS bytes
     FROM (SELECT ${key} AS key, octet_length(s) AS bytes FROM ${table}
       WHERE tenant = ? AND ${key} > ? AND ${key} < ? ORDER BY ${key} ${direction} ${LIMIT_CLAUSE})`,
  );
  for (let limit = most.rows; ; limit = Math.max(1, Math.floor(limit / 2))) {
    const row = sized.get(...range, limit);
    if (row === undefined) throw new Error('an aggregate gave no row');
    const [rows, bytes] = [numberOf(row, 'n'), numberOf(row, 'bytes')];
    if (limit > 1 && rows > 1 && bytes > most.bytes) continue;
    return { rows, bytes, last: rows < limit ? undefined : optionalTextOf(row, 'last') };
  }
}
