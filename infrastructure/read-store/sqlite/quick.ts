import type { FindResult, JsonObject, SearchQuery } from '../../../application/ports/read-store.ts';
import { allCells, inCells, iterateCells, textAt } from '../../sqlite/cells.ts';
import { LIMITED, type SqliteConnection } from '../../sqlite/connection.ts';
import { accessOf, type Choice, choose, type Source } from '../field-access.ts';
import type { IndexPlan } from '../index-keys.ts';
import { pageRoom } from '../page-room.ts';
import { searchedIndex, sortedAfter } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { documentsOf, type KnownFields } from './field-index.ts';
import { fieldSql } from './filter-sql.ts';
import { conditionOf, endOf, type Hit, inOrder, isDescending, sortedValue } from './hits.ts';
import {
  explained,
  fieldsOf,
  lookupOf,
  orderOf,
  type Plan,
  type PlanLimits,
  type Segment,
  segmentSql,
  segmentsOf,
} from './plan.ts';
import { type SliceLimits, searchedRange } from './slices.ts';
import type { TableShape } from './tables.ts';
import { boundsOf, entriesSlice, startOf } from './ways.ts';

/**
 * Pages that few entries answer: planned and read in one step, to be called in a snapshot, so that entries, documents
 * and plan are of one moment and a filter that the entries answer exactly is not checked again.
 */

type Order = Extract<Plan, { kind: 'order' }>;
type Limits = PlanLimits & SliceLimits;

/** The page, or the plan of a short search that must be read in slices; undefined for any other search. */
export function quickPage(
  connection: SqliteConnection,
  shape: TableShape,
  query: SearchQuery,
  limits: Limits,
): { readonly page: FindResult } | { readonly plan: Plan } | undefined {
  const fields = fieldsOf(connection, shape, query);
  if (fields === undefined || limits.quick === 0) return undefined;
  const isAllowed = (kind: Plan['kind']): boolean => limits.without?.includes(kind) !== true;
  const of = documentsOf(fields);
  const order = isAllowed('order') ? orderOf(query, fields, of) : undefined;
  const found = (page: FindResult, plan: Plan) => ({
    page: query.explain ? { ...page, plan: explained(plan) } : page,
  });
  if (order?.isExact) return found(orderPage(connection, shape, query, order), order);
  const few = isAllowed('lookup') ? fewOf(connection, shape, query, fields, limits) : undefined;
  if (few !== undefined) {
    const plan = lookupOf(few.choice, fields, of);
    const page = lookupPage(connection, shape, query, { ...few, isExact: plan.isExact }, limits);
    return page === undefined ? { plan } : found(page, plan);
  }
  return of <= limits.quick && isAllowed('scan') ? { plan: { kind: 'scan', of } } : undefined;
}

/** The ids of the fewest entries that have all documents of the filter; undefined when there are many. */
function fewOf(
  connection: SqliteConnection,
  shape: TableShape,
  { filter, now }: SearchQuery,
  fields: KnownFields,
  { quick }: Limits,
): { readonly choice: Choice; readonly ids: ReadonlySet<string> } | undefined {
  const access = filter === undefined ? undefined : accessOf(filter, now);
  if (access === undefined) return undefined;
  const idsBySource = new Map<Source, readonly string[]>();
  const of = documentsOf(fields);
  const choice = choose(access, quick, (source, most) => {
    const segments = segmentsOf(source, fields, of);
    if (segments === undefined) return undefined;
    const ids: string[] = [];
    for (const segment of segments) {
      for (const id of idsIn(connection, shape, segment, most - ids.length)) ids.push(id);
      if (ids.length >= most) return undefined;
    }
    idsBySource.set(source, ids);
    return ids.length;
  });
  if (choice === undefined) return undefined;
  return { choice, ids: new Set(choice.sources.flatMap((source) => idsBySource.get(source) ?? [])) };
}

function idsIn(
  connection: SqliteConnection,
  { number }: TableShape,
  segment: Segment,
  most: number,
): readonly string[] {
  if ('ids' in segment) return segment.ids;
  const { text, params } = segmentSql(segment);
  const select = inCells(connection.prepare(`SELECT id FROM f${number} WHERE ${text} ${LIMITED}`));
  return allCells(select, [...params, most]).map((cells) => textAt(cells, 0));
}

/** Reads entries in the order of the list, with their documents. */
function orderPage(
  connection: SqliteConnection,
  shape: TableShape,
  query: SearchQuery,
  plan: Order,
): FindResult {
  const { plan: key } = searchedIndex(shape, query);
  const direction = isDescending(query) ? 'DESC' : 'ASC';
  const isBoolean = query.sort?.field.type === 'boolean';
  if (query.sort !== undefined) sortedAfter(query.after, query.sort);
  const { segments, after } = startOf(plan.segments, query);
  const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
  const docs: { id: string; value: JsonObject }[] = [];
  let last: Hit | undefined;
  for (const [nth, segment] of segments.entries()) {
    if ('ids' in segment) continue;
    const entries = boundsOf(segment, nth === 0 ? after : undefined, undefined, direction);
    const { table, where, params } = entriesSlice(connection, shape, query, direction, entries);
    const statement = inCells(
      connection.prepare(
        `SELECT at, id, doc FROM ${table} WHERE ${where} ORDER BY at ${direction}, wanted ${direction} ${LIMITED}`,
      ),
    );
    for (const cells of iterateCells(statement, [...params, query.limit + 1 - docs.length])) {
      const doc = textAt(cells, 2);
      if (!hasRoom(doc)) return last === undefined ? { docs } : { docs, next: endOf(key, query, last) };
      const id = textAt(cells, 1);
      docs.push({ id, value: parseDocument(doc) });
      last = { id, value: sortedValue(cells[0], isBoolean) };
    }
  }
  return { docs };
}

/** Rows that are read between two looks at the time. */
const UNTIMED = 32;

/** Selects and sorts few documents, then reads those of the page; undefined when that takes longer than a slice. */
function lookupPage(
  connection: SqliteConnection,
  shape: TableShape,
  query: SearchQuery,
  { ids, isExact }: { readonly ids: ReadonlySet<string>; readonly isExact: boolean },
  { sliceMs }: Limits,
): FindResult | undefined {
  const { sort, limit, tenant } = query;
  const { plan: key, at } = searchedIndex(shape, query);
  const { low, high } = searchedRange(key, query);
  const condition = isExact ? undefined : conditionOf(query);
  const value = sort === undefined ? { text: `k${at}`, params: [] } : fieldSql(sort.field);
  // Documents that all have room on the page are read at once.
  const isWhole = ids.size <= limit;
  const text = `SELECT ${value.text}${isWhole ? ', doc' : ''} FROM d${shape.number}
    WHERE tenant = ? AND id = ? AND k${at} > ? AND k${at} < ?`;
  const select = inCells(
    condition === undefined
      ? connection.prepare(text)
      : connection.prepareOnce(`${text} AND ${condition.text}`),
  );
  const byOrder = inOrder(isDescending(query));
  const after = sort === undefined ? undefined : sortedAfter(query.after, sort);
  const hits: (Hit & { readonly doc: string | undefined })[] = [];
  const began = ids.size > UNTIMED ? process.threadCpuUsage() : undefined;
  let read = 0;
  for (const id of ids) {
    read += 1;
    if (began !== undefined && read % UNTIMED === 0 && isOver(began, sliceMs)) return undefined;
    const [cells] = allCells(select, [...value.params, tenant, id, low, high, ...(condition?.params ?? [])]);
    if (cells === undefined) continue;
    const doc = isWhole ? textAt(cells, 1) : undefined;
    const hit = { id, value: sortedValue(cells[0], sort?.field.type === 'boolean'), doc };
    if (after === undefined || byOrder(hit, after) > 0) hits.push(hit);
  }
  hits.sort(byOrder);
  return pageOf(query, key, hits.slice(0, limit + 1), (id) => docOf(connection, shape, tenant, id));
}

function pageOf(
  query: SearchQuery,
  key: IndexPlan,
  hits: readonly (Hit & { readonly doc: string | undefined })[],
  read: (id: string) => string,
): FindResult {
  const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
  const docs: { id: string; value: JsonObject }[] = [];
  let last: Hit | undefined;
  for (const hit of hits) {
    const doc = docs.length < query.limit ? (hit.doc ?? read(hit.id)) : '';
    if (!hasRoom(doc)) return last === undefined ? { docs } : { docs, next: endOf(key, query, last) };
    docs.push({ id: hit.id, value: parseDocument(doc) });
    last = hit;
  }
  return { docs };
}

function docOf(connection: SqliteConnection, { number }: TableShape, tenant: string, id: string): string {
  const select = inCells(connection.prepare(`SELECT doc FROM d${number} WHERE tenant = ? AND id = ?`));
  const [cells] = allCells(select, [tenant, id]);
  if (cells === undefined) throw new Error('a document is gone within a snapshot');
  return textAt(cells, 0);
}

function isOver(began: NodeJS.CpuUsage, sliceMs: number): boolean {
  const { user, system } = process.threadCpuUsage(began);
  return user + system > sliceMs * 1000;
}
