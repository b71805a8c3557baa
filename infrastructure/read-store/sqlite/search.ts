import type { SQLInputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import type {
  Cursor,
  FindResult,
  Scalar,
  SearchQuery,
  Selection,
} from '../../../application/ports/read-store.ts';
import { compareKeys, compareText } from '../../../domain/expressions/compare.ts';
import {
  numberOf,
  optionalTextOf,
  type Row,
  type SqliteConnection,
  textOf,
} from '../../sqlite/connection.ts';
import { cursorOf, type IndexPlan, type KeyRange, rangeOf } from '../index-keys.ts';
import { searchedIndex, sortedAfter } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { bound, fieldSql, filterSql, type Sql } from './filter-sql.ts';
import type { TableShape } from './tables.ts';

/**
 * Searches walk the range of an index in slices, each a statement of its own, and give others their turn in between:
 * SQLite answers in this thread. A slice is half or twice as many rows as the one before, to take about so long; by
 * this thread's processor time, so that a machine at work does not make them smaller.
 */
const SLICE_MS = 15;
const FIRST_SLICE = 250;
const LARGEST_SLICE = 4_000;
const DEADLINE_MS = 10_000;

/** Runs one step; undefined when the generation is not there. */
export type Step = <T>(
  step: (connection: SqliteConnection, shape: TableShape) => T,
) => Promise<T | undefined>;

interface Found {
  readonly row: Row;
  readonly id: string;
  /** Of a sorted search. */
  readonly value: Scalar;
}

export async function searchPage(step: Step, query: SearchQuery): Promise<FindResult | undefined> {
  const found = await pageOf(step, query, ', doc');
  if (found === undefined) return undefined;
  const docs = found.page.map(({ row, id }) => ({ id, value: parseDocument(textOf(row, 'doc')) }));
  return found.next === undefined ? { docs } : { docs, next: found.next };
}

export async function searchIds(
  step: Step,
  query: SearchQuery,
): Promise<{ ids: string[]; next?: Cursor } | undefined> {
  const found = await pageOf(step, query, '');
  if (found === undefined) return undefined;
  const ids = found.page.map(({ id }) => id);
  return found.next === undefined ? { ids } : { ids, next: found.next };
}

export async function countRows(step: Step, selection: Selection): Promise<number | undefined> {
  const condition = conditionOf(selection);
  let count = 0;
  const found = await slices(step, { ...selection, limit: 1 }, FIRST_SLICE, (slice) => {
    const { text, params } = condition;
    const sql = `SELECT count(*) AS n FROM ${slice.table} WHERE ${slice.where} AND ${text}`;
    const row = slice.connection.prepareOnce(sql).get(...slice.params, ...params);
    count += row === undefined ? 0 : numberOf(row, 'n');
    return false;
  });
  return found === undefined ? undefined : count;
}

async function pageOf(
  step: Step,
  query: SearchQuery,
  columns: string,
): Promise<{ page: Found[]; next: Cursor | undefined } | undefined> {
  const { sort, limit } = query;
  const condition = conditionOf(query);
  const sorted = sort === undefined ? undefined : { sort, by: fieldSql(sort.field), after: afterSql(query) };
  let rows: Found[] = [];
  // Without a filter the index alone gives the page.
  const size = query.filter === undefined && sort === undefined ? Number.POSITIVE_INFINITY : FIRST_SLICE;
  const plan = await slices(step, query, size, (slice) => {
    const { connection, table, where, params, key, direction } = slice;
    if (sorted === undefined) {
      const sql = `SELECT ${key} AS key, id${columns} FROM ${table} WHERE ${where} AND ${condition.text}
        ORDER BY ${key} ${direction} LIMIT ?`;
      const left = limit + 1 - rows.length;
      const found = connection.prepareOnce(sql).all(...params, ...condition.params, left);
      rows.push(...found.map((row) => ({ row, id: textOf(row, 'id'), value: null })));
      return rows.length > limit;
    }
    const { by, after } = sorted;
    const way = sorted.sort.direction === 'desc' ? 'DESC' : 'ASC';
    const sql = `SELECT ${by.text} AS sorted, id${columns} FROM ${table}
      WHERE ${where} AND ${condition.text} AND ${after.text} ORDER BY sorted ${way}, id ${way} LIMIT ?`;
    const all = [...by.params, ...params, ...condition.params, ...after.params, limit + 1];
    const found = connection.prepareOnce(sql).all(...all);
    if (found.length === 0) return false;
    const kind = sorted.sort.field.type;
    const added = found.map((row) => ({
      row,
      id: textOf(row, 'id'),
      value: sortedValue(row, kind === 'boolean'),
    }));
    rows = [...rows, ...added].sort(inOrder(way === 'DESC')).slice(0, limit + 1);
    return false;
  });
  if (plan === undefined) return undefined;
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (last === undefined || rows.length <= limit) return { page, next: undefined };
  if (sort !== undefined) return { page, next: { values: [last.value], id: last.id } };
  return { page, next: cursorOf(plan, textOf(last.row, 'key'), query.equals?.length ?? 0) };
}

interface Slice {
  readonly connection: SqliteConnection;
  readonly table: string;
  /** The column of the index. */
  readonly key: string;
  readonly direction: 'ASC' | 'DESC';
  readonly where: string;
  readonly params: readonly SQLInputValue[];
}

/**
 * Runs `look` on slice after slice until it answers true; undefined when the generation is not there.
 * @throws {StoreUnavailable} when time is up
 */
async function slices(
  step: Step,
  query: SearchQuery,
  firstSize: number,
  look: (slice: Slice) => boolean,
): Promise<IndexPlan | undefined> {
  const deadline = performance.now() + DEADLINE_MS;
  let rest: KeyRange | undefined;
  let size = firstSize;
  for (;;) {
    const done = await step((connection, shape) => {
      const began = process.threadCpuUsage();
      const { plan, at } = searchedIndex(shape, query);
      const { sort, after, ...unsorted } = query;
      // A sorted search looks at the whole range for each page: its cursor is one of another order.
      rest ??= sort === undefined ? rangeOf(plan, query) : rangeOf(plan, { ...unsorted, order: 'asc' });
      const [table, key] = [`d${shape.number}`, `k${at}`];
      const { low, high, descending } = rest;
      const direction = descending ? 'DESC' : 'ASC';
      const within = `tenant = ? AND ${key} > ? AND ${key} < ?`;
      const end = Number.isFinite(size)
        ? connection
            .prepare(
              `SELECT ${key} AS key FROM ${table} WHERE ${within} ORDER BY ${key} ${direction} LIMIT 1 OFFSET ?`,
            )
            .get(query.tenant, low, high, size - 1)
        : undefined;
      const last = end === undefined ? undefined : optionalTextOf(end, 'key');
      // One bound on each side: SQLite would seek by one of two, and read on to the other.
      const bounds = last === undefined ? ['>', '<'] : descending ? ['>=', '<'] : ['>', '<='];
      const where = `tenant = ? AND ${key} ${bounds[0]} ? AND ${key} ${bounds[1]} ?`;
      const slice = descending ? [last ?? low, high] : [low, last ?? high];
      const enough = look({ connection, table, key, direction, where, params: [query.tenant, ...slice] });
      const used = process.threadCpuUsage(began);
      const took = (used.user + used.system) / 1000;
      size = took > SLICE_MS ? Math.max(1, Math.floor(size / 2)) : Math.min(LARGEST_SLICE, size * 2);
      if (last !== undefined) rest = descending ? { ...rest, high: last } : { ...rest, low: last };
      return { plan, over: enough || last === undefined };
    });
    if (done === undefined) return undefined;
    if (done.over) return done.plan;
    if (performance.now() > deadline) throw new StoreUnavailable('a search took too long');
    await nextTurn();
  }
}

function conditionOf({ filter, now }: Selection): Sql {
  return filter === undefined ? { text: '1', params: [] } : filterSql(filter, now);
}

/** What comes after a cursor of a sorted search. Without a value comes first, and last where it descends. */
function afterSql({ sort, after }: SearchQuery): Sql {
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

function sortedValue(row: Row, isBoolean: boolean): Scalar {
  const { sorted } = row;
  if (typeof sorted === 'number') return isBoolean ? sorted !== 0 : sorted;
  return typeof sorted === 'string' ? sorted : null;
}

const inOrder =
  (descending: boolean) =>
  (a: Found, b: Found): number => {
    const order = byValue(a.value, b.value) || compareText(a.id, b.id);
    return descending ? -order : order;
  };

function byValue(a: Scalar, b: Scalar): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareKeys(a, b);
}
