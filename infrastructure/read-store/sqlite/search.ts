import type {
  Cursor,
  FindResult,
  JsonObject,
  SearchQuery,
  Selection,
} from '../../../application/ports/read-store.ts';
import { LIMIT_CLAUSE, numberOf, optionalTextOf, textOf } from '../../sqlite/connection.ts';
import { pageRoom } from '../page-room.ts';
import { searchedIndex } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { EntryCounts } from './entry-counts.ts';
import { fieldSql, type Sql } from './filter-sql.ts';
import {
  afterSql,
  conditionOf,
  distinct,
  endOf,
  type Hit,
  inOrder,
  isDescending,
  sortedValue,
} from './hits.ts';
import { countPlanOf, explained, type Plan, planOf, SCAN } from './plan.ts';
import { segmentSlices } from './slice-sources.ts';
import {
  checkDeadline,
  isPlain,
  type RunningSearch,
  rangeSlices,
  type Slice,
  type SliceSource,
  searchedRange,
  slices,
} from './slices.ts';
import type { Tables } from './tables.ts';

/** A found row without its document: only documents of the final page are read. */
interface Found {
  readonly id: string;
  /** Position of the document when it was found. */
  readonly position: string;
  /** Cursor of a page that ends with this row. */
  readonly end: Cursor;
}

/** With the position of the document. */
type PlacedHit = Hit & { readonly position: string };

interface FoundPage {
  readonly page: readonly Found[];
  readonly next: Cursor | undefined;
  readonly plan: Plan;
}

/** Reads a page of a search; undefined for an unknown generation. @throws {SearchGivenUp} */
export async function searchPage(search: RunningSearch, query: SearchQuery): Promise<FindResult | undefined> {
  let { after } = query;
  for (;;) {
    const found = await pageOf(search, { ...query, after });
    if (found === undefined) return undefined;
    const { docs, next } = (await documentsOf(search, query, found)) ?? { docs: [] };
    // All found documents are gone or no longer match: continues instead of returning an empty page.
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

/** Like {@link searchPage}, but reads only ids. */
export async function searchIds(
  search: RunningSearch,
  query: SearchQuery,
): Promise<{ ids: string[]; next?: Cursor } | undefined> {
  const found = await pageOf(search, query);
  if (found === undefined) return undefined;
  const ids = found.page.map(({ id }) => id);
  return found.next === undefined ? { ids } : { ids, next: found.next };
}

/** Counts documents; undefined for an unknown generation. @throws {SearchGivenUp} */
export async function countRows(search: RunningSearch, selection: Selection): Promise<number | undefined> {
  const query = { ...selection, limit: 1 };
  const plan = await planned(search, query, countPlanOf);
  if (plan === undefined) return undefined;
  if (plan.kind === 'lookup' && plan.isExact) return plan.entries;
  const condition = conditionOf(selection);
  const source = plan.kind === 'lookup' ? segmentSlices(query, plan, 'ASC') : rangeSlices(query, false);
  const isOnce = plan.kind !== 'lookup' || plan.isDistinct;
  const ids = new Set<string>();
  let count = 0;
  const isKnown = await slices(search, source, ({ table, where, params }, connection) => {
    const sql = `SELECT ${isOnce ? 'count(*) AS n' : 'id'} FROM ${table} WHERE ${where} AND ${condition.text}`;
    for (const row of connection.prepareOnce(sql).iterate(...params, ...condition.params)) {
      if (isOnce) count += numberOf(row, 'n');
      else ids.add(textOf(row, 'id'));
    }
    return false;
  });
  return isKnown ? count + ids.size : undefined;
}

/** The documents of a page, up to its size in bytes, read in one step; undefined for an unknown generation. */
function documentsOf(
  { step }: RunningSearch,
  query: SearchQuery,
  { page, next }: Omit<FoundPage, 'plan'>,
): Promise<FindResult | undefined> {
  return step((tables) => {
    const stored = tables.connection.prepare(
      `SELECT position, doc FROM d${tables.number} WHERE tenant = ? AND id = ?`,
    );
    const docs: { id: string; value: JsonObject }[] = [];
    const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
    let end: Cursor | undefined;
    for (const row of page) {
      const now = stored.get(query.tenant, row.id);
      const doc = now === undefined ? undefined : optionalTextOf(now, 'doc');
      const isSame = now !== undefined && textOf(now, 'position') === row.position;
      if (doc !== undefined && (isSame || isSelected(tables, query, row.id))) {
        if (!hasRoom(doc)) return end === undefined ? { docs } : { docs, next: end };
        docs.push({ id: row.id, value: parseDocument(doc) });
      }
      end = row.end;
    }
    return next === undefined ? { docs } : { docs, next };
  });
}

/** Whether a document that changed since it was found still matches. */
function isSelected(tables: Tables, query: SearchQuery, id: string): boolean {
  const { text, params } = conditionOf(query);
  const { plan, at } = searchedIndex(tables, query);
  const { low, high } = searchedRange(plan, query);
  const where = `tenant = ? AND id = ? AND k${at} > ? AND k${at} < ? AND ${text}`;
  const sql = `SELECT 1 FROM d${tables.number} WHERE ${where}`;
  return tables.connection.prepareOnce(sql).get(query.tenant, id, low, high, ...params) !== undefined;
}

/** The plan of a search; counts entries in steps. Undefined for an unknown generation. @throws {SearchGivenUp} */
async function planned(
  { plan, step, limits, deadline, nextSlice }: RunningSearch,
  query: SearchQuery,
  make: typeof planOf,
): Promise<Plan | undefined> {
  if (plan !== undefined) return plan;
  const counts = new EntryCounts(limits.countedAtOnce);
  for (;;) {
    checkDeadline(deadline);
    const made = await step((tables) => ({
      plan: counts.step((count) => make(tables, query, limits, count)),
    }));
    if (made === undefined || made.plan !== undefined) return made?.plan;
    await nextSlice();
  }
}

async function pageOf(search: RunningSearch, query: SearchQuery): Promise<FoundPage | undefined> {
  const { sort, limit } = query;
  const condition = conditionOf(query);
  const after = afterSql(query);
  const plan = isPlain(query) ? SCAN : await planned(search, query, planOf);
  if (plan === undefined) return undefined;
  const { source, by, isInOrder } = readingOf(plan, query);
  const isBoolean = sort?.field.type === 'boolean';
  let rows: PlacedHit[] = [];
  const isKnown = await slices(search, source, (slice, connection) => {
    const { table, where, params } = slice;
    const sorted = by(slice);
    const sql = `SELECT ${sorted.text} AS sorted, id, position FROM ${table}
      WHERE ${where} AND ${condition.text} AND ${after.text} ORDER BY ${sorted.order} ${LIMIT_CLAUSE}`;
    const found = connection
      .prepareOnce(sql)
      .all(...sorted.params, ...params, ...condition.params, ...after.params, limit + 1);
    if (found.length === 0) return false;
    const added = found.map((row) => ({
      id: textOf(row, 'id'),
      position: textOf(row, 'position'),
      value: sortedValue(row.sorted, isBoolean),
    }));
    if (isInOrder) rows = distinct([...rows, ...added]);
    else rows = distinct([...rows, ...added].sort(inOrder(isDescending(query)))).slice(0, limit + 1);
    return isInOrder && rows.length > limit;
  });
  if (!isKnown) return undefined;
  const key = await search.step((tables) => searchedIndex(tables, query).plan);
  if (key === undefined) return undefined;
  const page = rows
    .slice(0, limit)
    .map((hit) => ({ id: hit.id, position: hit.position, end: endOf(key, query, hit) }));
  return { page, next: rows.length > limit ? page.at(-1)?.end : undefined, plan };
}

interface Reading {
  readonly source: SliceSource;
  /** Rows come in the order of the list, so that reading stops when the page is full. */
  readonly isInOrder: boolean;
  /** The value that orders the rows of a slice, and the `ORDER BY` of the slice. */
  readonly by: (slice: Slice) => Sql & { readonly order: string };
}

function readingOf(plan: Plan, query: SearchQuery): Reading {
  const { sort } = query;
  const down = isDescending(query) ? 'DESC' : 'ASC';
  switch (plan.kind) {
    case 'order':
      return {
        source: segmentSlices(query, plan, down),
        isInOrder: true,
        by: ({ at }) => ({ text: at, params: [], order: `at ${down}, wanted ${down}` }),
      };
    case 'scan':
    case 'lookup': {
      const source =
        plan.kind === 'scan' ? rangeSlices(query, isPlain(query)) : segmentSlices(query, plan, 'ASC');
      if (sort !== undefined) {
        const by = { ...fieldSql(sort.field), order: `sorted ${down}, id ${down}` };
        return { source, isInOrder: false, by: () => by };
      }
      return {
        source,
        isInOrder: plan.kind === 'scan',
        by: ({ key }) => ({ text: key, params: [], order: `${key} ${down}` }),
      };
    }
    default:
      return plan satisfies never;
  }
}
