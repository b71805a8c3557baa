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
import { countPlanOf, explained, type Plan, planOf } from './plan.ts';
import { isPlain, rangeWay, type Scan, type Slice, searchedRange, slices, type Way } from './slices.ts';
import { segmentsWay } from './ways.ts';

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
  /** The value of the sort, or the key of the query's index. */
  readonly value: Scalar;
}

interface FoundPage {
  readonly page: readonly Found[];
  readonly next: Cursor | undefined;
  readonly plan: Plan;
}

const SCAN: Plan = { kind: 'scan', of: undefined };

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
    return {
      docs,
      ...(next !== undefined && { next }),
      ...(query.explain && { plan: explained(found.plan) }),
    };
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
  const query = { ...selection, limit: 1 };
  const plan = scan.plan ?? (await scan.step((...on) => countPlanOf(...on, query, scan.limits)));
  if (plan === undefined) return undefined;
  if (plan.kind === 'lookup' && plan.isExact) return plan.entries;
  const condition = conditionOf(selection);
  const way = plan.kind === 'lookup' ? segmentsWay(query, plan, 'ASC') : rangeWay(query, false);
  const isOnce = plan.kind !== 'lookup' || plan.isDistinct;
  const ids = new Set<string>();
  let count = 0;
  const isKnown = await slices(scan, way, ({ connection, table, where, params }) => {
    const sql = `SELECT ${isOnce ? 'count(*) AS n' : 'id'} FROM ${table} WHERE ${where} AND ${condition.text}`;
    for (const row of connection.prepareOnce(sql).iterate(...params, ...condition.params)) {
      if (isOnce) count += numberOf(row, 'n');
      else ids.add(textOf(row, 'id'));
    }
    return false;
  });
  return isKnown ? count + ids.size : undefined;
}

/** The documents of a page, up to its size in bytes. */
async function documentsOf({ step }: Scan, query: SearchQuery, { page, next }: Omit<FoundPage, 'plan'>) {
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
  const after = afterSql(query);
  const plan = isPlain(query)
    ? SCAN
    : (scan.plan ?? (await scan.step((...on) => planOf(...on, query, scan.limits))));
  if (plan === undefined) return undefined;
  const { way, by, isInOrder } = readingOf(plan, query);
  const isBoolean = sort?.field.type === 'boolean';
  let rows: Hit[] = [];
  const isKnown = await slices(scan, way, (slice) => {
    const { connection, table, where, params } = slice;
    const sorted = by(slice);
    const sql = `SELECT ${sorted.text} AS sorted, id, position FROM ${table}
      WHERE ${where} AND ${condition.text} AND ${after.text} ORDER BY ${sorted.order} LIMIT ?`;
    const found = connection
      .prepareOnce(sql)
      .all(...sorted.params, ...params, ...condition.params, ...after.params, limit + 1);
    if (found.length === 0) return false;
    const added = found.map((row) => hitOf(row, isBoolean));
    if (isInOrder) rows = distinct([...rows, ...added]);
    else rows = distinct([...rows, ...added].sort(inOrder(isDescending(query)))).slice(0, limit + 1);
    return isInOrder && rows.length > limit;
  });
  if (!isKnown) return undefined;
  const key = await scan.step((_, shape) => searchedIndex(shape, query).plan);
  if (key === undefined) return undefined;
  const page = rows.slice(0, limit).map(({ id, position, value }) => ({
    id,
    position,
    end:
      sort === undefined ? cursorOf(key, String(value), query.equals?.length ?? 0) : { values: [value], id },
  }));
  return { page, next: rows.length > limit ? page.at(-1)?.end : undefined, plan };
}

interface Reading {
  readonly way: Way;
  /** Rows come in the order of the list, so that a page ends at its last row. */
  readonly isInOrder: boolean;
  /** The value that orders the rows of a slice, and its order. */
  readonly by: (slice: Slice) => Sql & { readonly order: string };
}

function readingOf(plan: Plan, query: SearchQuery): Reading {
  const { sort } = query;
  const down = isDescending(query) ? 'DESC' : 'ASC';
  switch (plan.kind) {
    case 'order':
      return {
        way: segmentsWay(query, plan, down),
        isInOrder: true,
        by: ({ at }) => ({ text: at, params: [], order: `at ${down}, wanted ${down}` }),
      };
    case 'scan':
    case 'lookup': {
      const way = plan.kind === 'scan' ? rangeWay(query, isPlain(query)) : segmentsWay(query, plan, 'ASC');
      if (sort !== undefined) {
        const by = { ...fieldSql(sort.field), order: `sorted ${down}, id ${down}` };
        return { way, isInOrder: false, by: () => by };
      }
      return {
        way,
        isInOrder: plan.kind === 'scan',
        by: ({ key }) => ({ text: key, params: [], order: `${key} ${down}` }),
      };
    }
    default:
      return plan satisfies never;
  }
}

const isDescending = ({ sort, order }: SearchQuery): boolean => (sort?.direction ?? order) === 'desc';

/** The first of several hits of one document. */
function distinct(hits: readonly Hit[]): Hit[] {
  const seen = new Set<string>();
  return hits.filter(({ id }) => seen.size < seen.add(id).size);
}

const hitOf = (row: Row, isBoolean: boolean): Hit => ({
  id: textOf(row, 'id'),
  position: textOf(row, 'position'),
  value: sortedValue(row, isBoolean),
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
