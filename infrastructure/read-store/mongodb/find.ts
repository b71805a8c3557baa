import type { ClientSession, Filter, FindCursor } from 'mongodb';
import type { Cursor, EntriesQuery, FindQuery, FindResult } from '../../../application/ports/read-store.ts';
import { type Row, type Rows, rowsById, textIn, textsIn } from '../../mongodb/calls.ts';
import {
  checkSingle,
  cursorOf,
  encodeAll,
  type IndexPlan,
  type KeyRange,
  rangeOf,
  splitKey,
} from '../index-keys.ts';
import { pageRoom } from '../page-room.ts';
import { sizeOf } from './documents.ts';
import { documentIn } from './native-documents.ts';

/** A row of a page, with its key in the index. */
interface Hit {
  readonly key: string;
  readonly row: Row;
}

/** The collection, and the transaction that it is read in. */
interface Source {
  readonly rows: Rows;
  readonly session: ClientSession | undefined;
}

interface Hits {
  readonly hits: readonly Hit[];
  readonly hasMore: boolean;
}

/** Rows per request, so that the server does not send many rows that exceed the page. */
const BATCH = 25;

/**
 * Reads as many rows as fit on the page.
 * @param bytes maximum size of the documents together; default: the maximum of {@link pageRoom}
 */
export async function pageRows(
  cursor: FindCursor<Row>,
  limit: number,
  bytes?: number,
): Promise<{ page: Row[]; hasMore: boolean }> {
  const size = bytes === undefined ? BATCH : limit + 1;
  const hasRoom = pageRoom<Row>(limit, sizeOf, bytes);
  const page: Row[] = [];
  // Leaving the loop closes the cursor.
  for await (const row of cursor.limit(limit + 1).batchSize(size)) {
    if (!hasRoom(row)) return { page, hasMore: true };
    page.push(row);
  }
  return { page, hasMore: false };
}

/** @param session of the transaction that the reads belong to */
export async function findPage(
  rows: Rows,
  plan: IndexPlan,
  query: FindQuery,
  session?: ClientSession,
): Promise<FindResult> {
  const range = rangeOf(plan, query);
  const { hits, hasMore } = await hitsOf({ rows, session }, plan, query, range);
  const docs = hits.map(({ row }) => ({
    id: textIn(row, 'doc_id'),
    value: documentIn(row.value),
  }));
  const last = hits.at(-1);
  if (last === undefined || !hasMore) return { docs };
  return { docs, next: cursorOf(plan, last.key, query.equals?.length ?? 0) };
}

/** Reads only the index, which has all the data of an entry. */
export async function findEntries(
  rows: Rows,
  plan: IndexPlan,
  query: EntriesQuery,
): Promise<readonly Cursor[]> {
  const { low, high, descending } = rangeOf(plan, query);
  checkSingle(plan);
  const field = `k_${plan.name}`;
  const found = await rows
    .find({ tenant: query.tenant, [field]: { $gt: low, $lt: high } }, { projection: { _id: 0, [field]: 1 } })
    .sort({ [field]: descending ? -1 : 1 })
    .limit(query.limit)
    .toArray();
  return found.map((row) => cursorOf(plan, textIn(row, field), query.equals?.length ?? 0));
}

function hitsOf(source: Source, plan: IndexPlan, query: FindQuery, range: KeyRange): Promise<Hits> {
  if (plan.multi === undefined) {
    const field = `k_${plan.name}`;
    return inOrder(source, query, range, field, { [field]: { $gt: range.low, $lt: range.high } });
  }
  const equals = query.equals ?? [];
  if (equals.length < plan.splitAt) return unwound(source, plan, query, range);
  // `equals` fixes the array's field, so one element matches, and a native multikey index gives the order of the tail.
  const head = encodeAll(equals.slice(0, plan.splitAt));
  const field = `t_${plan.name}`;
  const low = range.low.slice(head.length);
  const bounded = range.high.startsWith(head);
  const bounds = bounded ? { $gt: low, $lt: range.high.slice(head.length) } : { $gt: low };
  return inOrder(source, query, range, field, { [`h_${plan.name}`]: head, [field]: bounds }, head);
}

const within = (session: ClientSession | undefined) => (session === undefined ? {} : { session });

/** Reads rows in the order of a field. @param head the beginning of the keys, before the field's value */
async function inOrder(
  { rows, session }: Source,
  { tenant, limit }: FindQuery,
  { descending }: KeyRange,
  field: string,
  where: Filter<Row>,
  head = '',
): Promise<Hits> {
  const found = rows.find({ tenant, ...where }, within(session)).sort({ [field]: descending ? -1 : 1 });
  const { page, hasMore } = await pageRows(found, limit);
  return { hits: page.map((row) => ({ key: head + textIn(row, field), row })), hasMore };
}

/**
 * The array's field is not fixed, so a document may give several rows. MongoDB orders documents instead of entries, so
 * this reads and sorts the keys of all matching documents, and then reads the page's documents. The cost grows with the
 * tenant's matching documents; a projection that needs this query often should have another index.
 */
async function unwound(source: Source, plan: IndexPlan, query: FindQuery, range: KeyRange): Promise<Hits> {
  const { rows, session } = source;
  const head = `h_${plan.name}`;
  const tail = `t_${plan.name}`;
  const [lowHead] = splitKey(range.low, plan.splitAt);
  const [highHead] = splitKey(range.high, plan.splitAt);
  const found = await rows
    .find(
      { tenant: query.tenant, [head]: { $elemMatch: { $gte: lowHead, $lte: highHead } } },
      { ...within(session), projection: { [head]: 1, [tail]: 1 } },
    )
    .toArray();
  const [low, high] = [Buffer.from(range.low), Buffer.from(range.high)];
  const entries = found
    .flatMap((row) => textsIn(row, head).map((each) => ({ id: row._id, key: each + textIn(row, tail) })))
    .map((entry) => ({ ...entry, bytes: Buffer.from(entry.key) }))
    .filter(({ bytes }) => Buffer.compare(bytes, low) > 0 && Buffer.compare(bytes, high) < 0)
    .sort((a, b) => (range.descending ? -1 : 1) * Buffer.compare(a.bytes, b.bytes))
    .slice(0, query.limit + 1);
  const ids = entries.map(({ id }) => id);
  const byId = await rowsById(rows, ids, within(session));
  const hits = entries.flatMap(({ id, key }) => {
    const row = byId.get(id);
    return row === undefined || row.value === null ? [] : [{ key, row }];
  });
  // A document was deleted meanwhile. Reads again, since a short page would look like the last one.
  if (hits.length < entries.length) return unwound(source, plan, query, range);
  const hasRoom = pageRoom<Row>(query.limit, sizeOf);
  const end = hits.findIndex(({ row }) => !hasRoom(row));
  return end < 0 ? { hits, hasMore: false } : { hits: hits.slice(0, end), hasMore: true };
}
