import type {
  Cursor,
  FindResult,
  JsonObject,
  SearchQuery,
  Selection,
} from '../../../application/ports/read-store.ts';
import { selects } from '../../../domain/expressions/matches.ts';
import { rangeOf } from '../../../infrastructure/read-store/index-keys.ts';
import { pageRoom } from '../../../infrastructure/read-store/page-room.ts';
import {
  pathKey,
  scalarIn,
  searchedIndex,
  sortedAfter,
} from '../../../infrastructure/read-store/searched.ts';
import { endOf, type Hit, inOrder, isDescending } from '../../../infrastructure/read-store/sqlite/hits.ts';
import { ALL, type Entry, type Held, type MemoryCollection } from './collection.ts';

interface Row {
  readonly hit: Hit;
  readonly held: Held;
}

interface Page {
  readonly rows: readonly Row[];
  readonly isLast: boolean;
  readonly endOf: (row: Row) => Cursor;
}

/** A page of whole documents. */
export const searchPage = (collection: MemoryCollection, query: SearchQuery): FindResult => {
  const page = pageOf(collection, query);
  const hasRoom = pageRoom<Row>(query.limit, ({ held }) => Buffer.byteLength(held.text));
  const docs: { id: string; value: JsonObject }[] = [];
  const plan = query.explain === true ? { plan: 'scan' } : {};
  let last: Row | undefined;
  for (const row of page.rows) {
    if (!hasRoom(row)) return { docs, ...(last && { next: page.endOf(last) }), ...plan };
    if (row.held.doc !== undefined) docs.push({ id: row.hit.id, value: row.held.doc.value });
    last = row;
  }
  return { docs, ...(!page.isLast && last && { next: page.endOf(last) }), ...plan };
};

export const searchIds = (
  collection: MemoryCollection,
  query: SearchQuery,
): { ids: string[]; next?: Cursor } => {
  const { rows, isLast, endOf: end } = pageOf(collection, query);
  const last = rows.at(-1);
  return { ids: rows.map(({ hit }) => hit.id), ...(!isLast && last && { next: end(last) }) };
};

export const countRows = (collection: MemoryCollection, selection: Selection): number => {
  const query = { ...selection, limit: ALL };
  return [...selected(collection, query, query)].length;
};

const pageOf = (collection: MemoryCollection, query: SearchQuery): Page => {
  const { plan } = searchedIndex(collection, query);
  const { sort, limit, after, order: _, ...unsorted } = query;
  if (sort !== undefined) pathKey(sort.field);
  // Checks the limit and, without a sort, the cursor.
  const found = [...selected(collection, query, sort === undefined ? query : { ...unsorted, limit })];
  const rows = found.map(({ entry, held }): Row => {
    const value =
      sort === undefined ? entry.key : (scalarIn(held.searched ?? {}, entry.id, sort.field) ?? null);
    return { hit: { id: entry.id, value }, held };
  });
  if (sort !== undefined) {
    const compare = inOrder(isDescending(query));
    const end = sortedAfter(after, sort);
    const left = end === undefined ? rows : rows.filter(({ hit }) => compare(hit, end) > 0);
    rows.splice(0, ALL, ...left.sort((a, b) => compare(a.hit, b.hit)));
  }
  return {
    rows: rows.slice(0, limit),
    isLast: rows.length <= limit,
    endOf: ({ hit }) => endOf(plan, query, hit),
  };
};

/** Documents of a range that the filter selects. */
function* selected(
  collection: MemoryCollection,
  { tenant, filter, now }: SearchQuery,
  range: SearchQuery,
): Generator<{ readonly entry: Entry; readonly held: Held }> {
  const { plan, at } = searchedIndex(collection, range);
  for (const entry of collection.range(tenant, at, rangeOf(plan, range))) {
    const held = collection.held(tenant, entry.id);
    if (held === undefined) throw new Error(`index ${plan.name} names ${entry.id}, which is not there`);
    if (
      filter === undefined ||
      selects(filter, (field) => scalarIn(held.searched ?? {}, entry.id, field), now)
    )
      yield { entry, held };
  }
}
