import type { FindResult, JsonObject, SearchQuery } from '../../../application/ports/read-store.ts';
import type { FilterField } from '../../../domain/expressions/filter-tree.ts';
import { selects } from '../../../domain/expressions/matches.ts';
import { allCells, type Cells, inCells, iterateCells, textAt } from '../../sqlite/cells.ts';
import { LIMIT_CLAUSE } from '../../sqlite/connection.ts';
import { pageRoom } from '../page-room.ts';
import { scalarIn, searchedIndex, sortedAfter } from '../searched.ts';
import { parseDocument } from '../stored-values.ts';
import { endOf, type Hit, inOrder, isDescending, sortedValue } from './hits.ts';
import { countPlanOf, explained, type Plan, type PlanLimits, type PlanOf, planOf } from './plan.ts';
import { baseOf, sliceOf, startOf } from './slice-sources.ts';
import type { Tables } from './tables.ts';

/**
 * Pages read from few entries. {@link quickPage} is called in a snapshot, so that the plan and the documents are of
 * one moment.
 */

/** The plan of a search so short that it need not wait for a slot; undefined for any other search. */
export function quickPlanOf(
  tables: Tables,
  query: SearchQuery,
  limits: PlanLimits,
  kind: 'page' | 'count',
): Plan | undefined {
  const { quick } = limits;
  if (quick === 0) return undefined;
  const few = { ...limits, counted: quick };
  const plan = (kind === 'page' ? planOf : countPlanOf)(tables, query, few);
  switch (plan.kind) {
    case 'scan':
      return plan.of !== undefined && plan.of <= quick ? plan : undefined;
    case 'lookup':
      return plan;
    case 'order':
      return plan.isExact ? plan : undefined;
    default:
      return plan satisfies never;
  }
}

/** Bytes of documents that a short lookup may read in all, shared evenly by its entries. */
export const QUICK_BYTES = 512 * 1024;

/** The page, or the plan of a short search that must be read in slices; undefined for any other search. */
export function quickPage(
  tables: Tables,
  query: SearchQuery,
  limits: PlanLimits,
): { readonly page: FindResult } | { readonly plan: Plan } | undefined {
  const plan = quickPlanOf(tables, query, limits, 'page');
  if (plan === undefined || plan.kind === 'scan') return plan && { plan };
  const page = plan.kind === 'order' ? orderPage(tables, query, plan) : lookupPage(tables, query, plan);
  if (page === undefined) return { plan };
  return { page: query.explain ? { ...page, plan: explained(plan) } : page };
}

/** Reads entries in the order of the list, with their documents. */
function orderPage(tables: Tables, query: SearchQuery, plan: PlanOf<'order'>): FindResult {
  const { plan: key } = searchedIndex(tables, query);
  const isBoolean = query.sort?.field.type === 'boolean';
  if (query.sort !== undefined) sortedAfter(query.after, query.sort);
  const base = baseOf(tables, query, isDescending(query) ? 'DESC' : 'ASC');
  const { segments, after } = startOf(plan.segments, query);
  const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
  const docs: { id: string; value: JsonObject }[] = [];
  let last: Hit | undefined;
  for (const [nth, segment] of segments.entries()) {
    const { table, where, params, direction } = sliceOf(base, segment, nth === 0 ? after : undefined);
    const order = `at ${direction}, wanted ${direction}`;
    const select = `SELECT at, id, doc FROM ${table} WHERE ${where} ORDER BY ${order} ${LIMIT_CLAUSE}`;
    const rest = query.limit + 1 - docs.length;
    for (const cells of iterateCells(inCells(tables.connection.prepare(select)), [...params, rest])) {
      const doc = textAt(cells, 2);
      if (!hasRoom(doc)) return last === undefined ? { docs } : { docs, next: endOf(key, query, last) };
      const id = textAt(cells, 1);
      docs.push({ id, value: parseDocument(doc) });
      last = { id, value: sortedValue(cells[0], isBoolean) };
    }
  }
  return { docs };
}

/** Reads the documents of few entries; undefined if one of the documents is too large. */
function lookupPage(
  tables: Tables,
  query: SearchQuery,
  { segments, entries }: PlanOf<'lookup'>,
): FindResult | undefined {
  const base = baseOf(tables, query, 'ASC');
  const rows = new Map<string, Cells>();
  for (const segment of segments) {
    const { key, table, where, params } = sliceOf(base, segment);
    const select = `SELECT id, iif(octet_length(doc) <= ?, doc, NULL), ${key} FROM ${table} WHERE ${where}`;
    for (const cells of allCells(inCells(tables.connection.prepare(select)), [
      QUICK_BYTES / entries,
      ...params,
    ])) {
      rows.set(textAt(cells, 0), cells);
    }
  }
  return pageOf(tables, query, [...rows.values()]);
}

/** Selects and sorts documents. @param rows id, text and key of each; the page is undefined if any text is missing */
export function pageOf(tables: Tables, query: SearchQuery, rows: readonly Cells[]): FindResult | undefined {
  const { filter, sort, now, limit } = query;
  const after = sort && sortedAfter(query.after, sort);
  const byOrder = inOrder(isDescending(query));
  const hits: (Hit & { readonly doc: JsonObject })[] = [];
  for (const cells of rows) {
    if (cells[1] === null) return undefined;
    const [id, doc] = [textAt(cells, 0), parseDocument(textAt(cells, 1))];
    const scalarOf = (field: FilterField) => scalarIn(doc, id, field);
    if (filter !== undefined && !selects(filter, scalarOf, now)) continue;
    const hit = { id, doc, value: sort === undefined ? textAt(cells, 2) : (scalarOf(sort.field) ?? null) };
    if (after === undefined || byOrder(hit, after) > 0) hits.push(hit);
  }
  const page = hits.sort(byOrder).slice(0, limit);
  const docs = page.map(({ id, doc }) => ({ id, value: doc }));
  const last = hits.length > limit ? page.at(-1) : undefined;
  return last === undefined
    ? { docs }
    : { docs, next: endOf(searchedIndex(tables, query).plan, query, last) };
}
