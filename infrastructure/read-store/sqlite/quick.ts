import type { FindResult, JsonObject, SearchQuery } from '../../../application/ports/read-store.ts';
import { allCells, type Cells, inCells, iterateCells, textAt } from '../../sqlite/cells.ts';
import type { SqliteConnection } from '../../sqlite/connection.ts';
import { pageRoom } from '../page-room.ts';
import { searchedIndex, sortedAfter } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { fieldSql } from './filter-sql.ts';
import { conditionOf, distinct, endOf, type Hit, inOrder, isDescending, sortedValue } from './hits.ts';
import { explained, type Plan, type PlanLimits, quickPlanOf } from './plan.ts';
import type { SliceLimits } from './slices.ts';
import type { TableShape } from './tables.ts';
import { boundsOf, entriesSlice, segmentSlice, startOf } from './ways.ts';

/**
 * Pages that few entries answer: planned and read in one step, to be called in a snapshot, so that entries, documents
 * and plan are of one moment and a filter that the entries answer exactly is not checked again.
 */

type Lookup = Extract<Plan, { kind: 'lookup' }>;
type Order = Extract<Plan, { kind: 'order' }>;

/** The page, or the plan of a short search that must be read in slices; undefined for any other search. */
export function quickPage(
  connection: SqliteConnection,
  shape: TableShape,
  query: SearchQuery,
  limits: PlanLimits & SliceLimits,
): { readonly page: FindResult } | { readonly plan: Plan } | undefined {
  const plan = quickPlanOf(connection, shape, query, limits, 'page');
  if (plan === undefined || plan.kind === 'scan') return plan && { plan };
  const page =
    plan.kind === 'order'
      ? orderPage(connection, shape, query, plan)
      : lookupPage(connection, shape, query, plan, limits.sliceMs);
  if (page === undefined) return { plan };
  return { page: query.explain ? { ...page, plan: explained(plan) } : page };
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
        `SELECT at, id, doc FROM ${table} WHERE ${where} ORDER BY at ${direction}, wanted ${direction} LIMIT ?`,
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

/** Rows that are read without a look at the time. */
const UNTIMED = 32;

/** Finds the documents of some entries, then reads those of the page; undefined when that takes longer than a slice. */
function lookupPage(
  connection: SqliteConnection,
  shape: TableShape,
  query: SearchQuery,
  plan: Lookup,
  sliceMs: number,
): FindResult | undefined {
  const { sort, limit } = query;
  const { plan: key } = searchedIndex(shape, query);
  const condition = plan.isExact ? undefined : conditionOf(query);
  const isBoolean = sort?.field.type === 'boolean';
  const hits: Hit[] = [];
  const began = process.threadCpuUsage();
  for (const segment of plan.segments) {
    const slice = segmentSlice(connection, shape, query, segment);
    const value = sort === undefined ? { text: slice.key, params: [] } : fieldSql(sort.field);
    const text = `SELECT ${value.text}, id FROM ${slice.table} WHERE ${slice.where}`;
    const statement =
      condition === undefined
        ? connection.prepare(text)
        : connection.prepareOnce(`${text} AND ${condition.text}`);
    const params = [...value.params, ...slice.params, ...(condition?.params ?? [])];
    for (const cells of iterateCells(inCells(statement), params)) {
      hits.push({ id: textAt(cells, 1), value: sortedValue(cells[0], isBoolean) });
      if (hits.length % UNTIMED === 0 && isOver(began, sliceMs)) return undefined;
    }
    if (isOver(began, sliceMs)) return undefined;
  }
  const byOrder = inOrder(isDescending(query));
  const after = sort === undefined ? undefined : sortedAfter(query.after, sort);
  const rest = after === undefined ? hits : hits.filter((hit) => byOrder(hit, after) > 0);
  const sorted = (plan.isDistinct ? rest : distinct(rest)).sort(byOrder);
  const select = inCells(connection.prepare(`SELECT doc FROM d${shape.number} WHERE tenant = ? AND id = ?`));
  const hasRoom = pageRoom<string>(limit, Buffer.byteLength);
  const docs: { id: string; value: JsonObject }[] = [];
  let last: Hit | undefined;
  for (const hit of sorted) {
    const [found]: (Cells | undefined)[] =
      docs.length < limit ? [...allCells(select, [query.tenant, hit.id])] : [];
    const doc = found === undefined ? '' : textAt(found, 0);
    if (!hasRoom(doc)) return last === undefined ? { docs } : { docs, next: endOf(key, query, last) };
    docs.push({ id: hit.id, value: parseDocument(doc) });
    last = hit;
  }
  return { docs };
}

function isOver(began: NodeJS.CpuUsage, sliceMs: number): boolean {
  const { user, system } = process.threadCpuUsage(began);
  return user + system > sliceMs * 1000;
}
