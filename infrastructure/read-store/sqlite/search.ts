import { setImmediate as nextTick } from 'node:timers/promises';
import type {
  Cursor,
  FindResult,
  JsonObject,
  Scalar,
  SearchQuery,
  Selection,
} from '../../../application/ports/read-store.ts';
import { compareKeys, compareText } from '../../../domain/expressions/compare.ts';
import { numberOf, optionalTextOf, type Row, textOf } from '../../sqlite/connection.ts';
import { cursorOf } from '../index-keys.ts';
import { pageRoom } from '../page-room.ts';
import { searchedIndex, sortedAfter } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { bound, fieldSql, filterSql, type Sql } from './filter-sql.ts';
import { isPlain, type Scan, searchedRange, slices } from './slices.ts';

/** A found row without its document: only documents of the final page are read. */
interface Found {
  readonly id: string;
  /** Position of the document when it was found. */
  readonly position: string;
  /** Cursor of a page that ends with this row. */
  readonly end: Cursor;
}

/** A row of a slice. */
interface Hit {
  readonly id: string;
  readonly position: string;
  readonly key: string | undefined;
  /** Sorted searches only. */
  readonly value: Scalar;
}

interface FoundPage {
  readonly page: readonly Found[];
  readonly next: Cursor | undefined;
}

/** Undefined for an unknown generation. @throws {SearchGivenUp} */
export async function searchPage(scan: Scan, query: SearchQuery): Promise<FindResult | undefined> {
  let { after } = query;
  for (;;) {
    const found = await pageOf(scan, { ...query, after });
    if (found === undefined) return undefined;
    const { docs, next } = await documentsOf(scan, query, found);
    // All found documents were deleted in the meantime: continues instead of returning an empty page.
    if (docs.length === 0 && next !== undefined) {
      after = next;
      continue;
    }
    return next === undefined ? { docs } : { docs, next };
  }
}

/** Like {@link searchPage}. */
export async function searchIds(
  scan: Scan,
  query: SearchQuery,
): Promise<{ ids: string[]; next?: Cursor } | undefined> {
  const found = await pageOf(scan, query);
  if (found === undefined) return undefined;
  const ids = found.page.map(({ id }) => id);
  return found.next === undefined ? { ids } : { ids, next: found.next };
}

/** Like {@link searchPage}. */
export async function countRows(scan: Scan, selection: Selection): Promise<number | undefined> {
  const condition = conditionOf(selection);
  let count = 0;
  const found = await slices(scan, { ...selection, limit: 1 }, false, (slice) => {
    const { text, params } = condition;
    const sql = `SELECT count(*) AS n FROM ${slice.table} WHERE ${slice.where} AND ${text}`;
    const row = slice.connection.prepareOnce(sql).get(...slice.params, ...params);
    count += row === undefined ? 0 : numberOf(row, 'n');
    return false;
  });
  return found === undefined ? undefined : count;
}

/** The documents of a page, up to its size in bytes. */
async function documentsOf({ step }: Scan, query: SearchQuery, { page, next }: FoundPage) {
  const docs: { id: string; value: JsonObject }[] = [];
  const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
  let end: Cursor | undefined;
  for (const row of page) {
    const text = await step(({ prepare }, { number }) => {
      const stored = prepare(`SELECT position, doc FROM d${number} WHERE tenant = ? AND id = ?`);
      const now = stored.get(query.tenant, row.id);
      const doc = now === undefined ? undefined : optionalTextOf(now, 'doc');
      return now === undefined || doc === undefined ? undefined : { doc, position: textOf(now, 'position') };
    });
    const isStill =
      text !== undefined && (text.position === row.position || (await isSelected(step, query, row.id)));
    if (isStill) {
      if (!hasRoom(text.doc)) return { docs, next: end };
      docs.push({ id: row.id, value: parseDocument(text.doc) });
    }
    end = row.end;
  }
  return { docs, next };
}

/** Whether a document that changed since it was found still matches. */
async function isSelected(step: Scan['step'], query: SearchQuery, id: string): Promise<boolean> {
  const { text, params } = conditionOf(query);
  await nextTick();
  const found = await step((connection, shape) => {
    const { plan, at } = searchedIndex(shape, query);
    const { low, high } = searchedRange(plan, query);
    const where = `tenant = ? AND id = ? AND k${at} > ? AND k${at} < ? AND ${text}`;
    const sql = `SELECT 1 FROM d${shape.number} WHERE ${where}`;
    return connection.prepareOnce(sql).get(query.tenant, id, low, high, ...params) !== undefined;
  });
  return found ?? false;
}

async function pageOf(scan: Scan, query: SearchQuery): Promise<FoundPage | undefined> {
  const { sort, limit } = query;
  const condition = conditionOf(query);
  const sorted = sort === undefined ? undefined : { sort, by: fieldSql(sort.field), after: afterSql(query) };
  let rows: Hit[] = [];
  const plan = await slices(scan, query, isPlain(query), (slice) => {
    const { connection, table, where, params, key, direction } = slice;
    if (sorted === undefined) {
      const sql = `SELECT ${key} AS key, id, position FROM ${table} WHERE ${where} AND ${condition.text}
        ORDER BY ${key} ${direction} LIMIT ?`;
      const left = limit + 1 - rows.length;
      const found = connection.prepareOnce(sql).all(...params, ...condition.params, left);
      rows.push(...found.map((row) => ({ ...named(row), key: textOf(row, 'key'), value: null })));
      return rows.length > limit;
    }
    const { by, after } = sorted;
    const way = sorted.sort.direction === 'desc' ? 'DESC' : 'ASC';
    const sql = `SELECT ${by.text} AS sorted, id, position FROM ${table}
      WHERE ${where} AND ${condition.text} AND ${after.text} ORDER BY sorted ${way}, id ${way} LIMIT ?`;
    const all = [...by.params, ...params, ...condition.params, ...after.params, limit + 1];
    const found = connection.prepareOnce(sql).all(...all);
    if (found.length === 0) return false;
    const isBoolean = sorted.sort.field.type === 'boolean';
    const added = found.map((row) => ({
      ...named(row),
      key: undefined,
      value: sortedValue(row, isBoolean),
    }));
    rows = [...rows, ...added].sort(inOrder(way === 'DESC')).slice(0, limit + 1);
    return false;
  });
  if (plan === undefined) return undefined;
  const page = rows.slice(0, limit).map(({ id, position, key, value }) => ({
    id,
    position,
    end: key === undefined ? { values: [value], id } : cursorOf(plan, key, query.equals?.length ?? 0),
  }));
  return { page, next: rows.length > limit ? page.at(-1)?.end : undefined };
}

const named = (row: Row): Pick<Hit, 'id' | 'position'> => ({
  id: textOf(row, 'id'),
  position: textOf(row, 'position'),
});

function conditionOf({ filter, now }: Selection): Sql {
  return filter === undefined ? { text: '1', params: [] } : filterSql(filter, now);
}

/** The condition of rows after a sorted search's cursor. Missing values come first in ascending order, else last. */
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
  (a: Hit, b: Hit): number => {
    const order = byValue(a.value, b.value) || compareText(a.id, b.id);
    return descending ? -order : order;
  };

function byValue(a: Scalar, b: Scalar): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareKeys(a, b);
}
