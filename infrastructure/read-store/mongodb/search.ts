import { type Document, MongoServerError } from 'mongodb';
import type { Cursor, FindResult, SearchQuery, Selection } from '../../../application/ports/read-store.ts';
import { SearchGivenUp } from '../../../application/ports/searches.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import type { SortField } from '../../../domain/expressions/filter-tree.ts';
import { type Row, textIn } from '../../mongodb/calls.ts';
import { cursorOf, rangeOf } from '../index-keys.ts';
import { searchedIndex, sortedAfter } from '../searched.ts';
import { fieldPath, filterQuery } from './filter-query.ts';
import { pageRows } from './find.ts';
import type { OpenCollection } from './generations.ts';
import { documentIn } from './native-documents.ts';

/** Time limit (ms) on the server: less than that of the whole call, so that the server does not search in vain. */
const SERVER_MS = 8_000;
const serverMs = ({ withinMs = SERVER_MS }: Selection): number => Math.min(withinMs, SERVER_MS);

export async function searchPage(collection: OpenCollection, query: SearchQuery): Promise<FindResult> {
  const { page, next } = await pageOf(collection, query, { value: 1 });
  const docs = page.map((row) => ({ id: textIn(row, 'doc_id'), value: documentIn(row.value) }));
  return next === undefined ? { docs } : { docs, next };
}

export interface FoundIds {
  readonly ids: readonly string[];
  readonly next?: Cursor | undefined;
}

export async function searchIds(collection: OpenCollection, query: SearchQuery): Promise<FoundIds> {
  const { page, next } = await pageOf(collection, query, {});
  const ids = page.map((row) => textIn(row, 'doc_id'));
  return next === undefined ? { ids } : { ids, next };
}

export function countRows(collection: OpenCollection, selection: Selection): Promise<number> {
  const { plan } = searchedIndex(collection, selection);
  const { low, high } = rangeOf(plan, { ...selection, limit: 1 });
  const query = {
    tenant: selection.tenant,
    [`k_${plan.name}`]: { $gt: low, $lt: high },
    ...filtered(selection),
  };
  return inTime(() => collection.rows.countDocuments(query, { maxTimeMS: serverMs(selection) }));
}

async function pageOf(
  { rows, ...collection }: OpenCollection,
  query: SearchQuery,
  columns: Document,
): Promise<{ page: Row[]; next: Cursor | undefined }> {
  const { plan } = searchedIndex(collection, query);
  const { sort, after, ...unsorted } = query;
  const key = `k_${plan.name}`;
  const range = sort === undefined ? rangeOf(plan, query) : rangeOf(plan, { ...unsorted, order: 'asc' });
  const where: Document = { tenant: query.tenant, [key]: { $gt: range.low, $lt: range.high } };
  const conditions = [filtered(query), sort === undefined ? {} : afterCursor(sort, after)];
  const given = conditions.filter((condition) => Object.keys(condition).length > 0);
  if (given.length > 0) where.$and = given;
  const direction = sort?.direction === 'desc' || (sort === undefined && range.descending) ? -1 : 1;
  const path = sort === undefined ? key : fieldPath(sort.field);
  const order: [string, 1 | -1][] =
    path === 'doc_id' || sort === undefined
      ? [[path, direction]]
      : [
          [path, direction],
          ['doc_id', direction],
        ];
  const { page, hasMore } = await inTime(() =>
    pageRows(
      rows
        .find(where, { projection: { ...columns, doc_id: 1, [path]: 1 }, maxTimeMS: serverMs(query) })
        .sort(order),
      query.limit,
      columns.value === undefined ? Number.POSITIVE_INFINITY : undefined,
    ),
  );
  const last = page.at(-1);
  if (last === undefined || !hasMore) return { page, next: undefined };
  const next =
    sort === undefined
      ? cursorOf(plan, textIn(last, key), query.equals?.length ?? 0)
      : { values: [scalarAt(last, path)], id: textIn(last, 'doc_id') };
  return { page, next };
}

const filtered = ({ filter, now }: Selection): Document =>
  filter === undefined ? {} : filterQuery(filter, now);

/** Selects the rows after a sorted search's cursor. Rows without a value come first, or last in descending order. */
function afterCursor(sort: SortField, after: Cursor | undefined): Document {
  const end = sortedAfter(after, sort);
  if (end === undefined) return {};
  const path = fieldPath(sort.field);
  const down = sort.direction === 'desc';
  const later = down ? '$lt' : '$gt';
  if (path === 'doc_id') return { doc_id: { [later]: end.id } };
  const tie = { doc_id: { [later]: end.id } };
  const none = { [path]: { $exists: false } };
  if (end.value === null) {
    const rest = { $and: [none, tie] };
    return down ? rest : { $or: [{ [path]: { $exists: true } }, rest] };
  }
  const next = [{ [path]: { [later]: end.value } }, { $and: [{ [path]: { $eq: end.value } }, tie] }];
  return { $or: down ? [...next, none] : next };
}

function scalarAt(row: Row, path: string): Scalar {
  let found: unknown = row;
  for (const part of path.split('.')) {
    const isObject = typeof found === 'object' && found !== null && Object.hasOwn(found, part);
    found = isObject ? Reflect.get(Object(found), part) : null;
  }
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean' ? found : null;
}

const MAX_TIME_EXPIRED = 50;

async function inTime<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== MAX_TIME_EXPIRED) throw error;
    throw new SearchGivenUp('a search took too long', { cause: error });
  }
}
