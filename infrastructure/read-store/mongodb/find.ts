import type { FindQuery, FindResult } from '../../../application/ports/read-store.ts';
import { type Row, type Rows, textIn, textsIn } from '../../mongodb/calls.ts';
import { cursorOf, encodeAll, type IndexPlan, type KeyRange, rangeOf, splitKey } from '../index-keys.ts';
import { parseDocument } from '../stored-values.ts';

/** A row of a page, with its key in the index. */
interface Hit {
  readonly key: string;
  readonly row: Row;
}

export async function findPage(rows: Rows, plan: IndexPlan, query: FindQuery): Promise<FindResult> {
  const range = rangeOf(plan, query);
  const hits = await hitsOf(rows, plan, query, range);
  const page = hits.slice(0, query.limit);
  const docs = page.map(({ row }) => ({
    id: textIn(row, 'doc_id'),
    value: parseDocument(textIn(row, 'value')),
  }));
  const last = page.at(-1);
  if (last === undefined || hits.length <= query.limit) return { docs };
  return { docs, next: cursorOf(plan, last.key, query.equals?.length ?? 0) };
}

function hitsOf(rows: Rows, plan: IndexPlan, query: FindQuery, range: KeyRange): Promise<Hit[]> {
  if (plan.multi === undefined) return singleValued(rows, plan, query, range);
  const equals = query.equals ?? [];
  if (equals.length < plan.splitAt) return unwound(rows, plan, query, range);
  return withinHead(rows, plan, query, range, encodeAll(equals.slice(0, plan.splitAt)));
}

async function singleValued(rows: Rows, plan: IndexPlan, query: FindQuery, range: KeyRange): Promise<Hit[]> {
  const field = `k_${plan.name}`;
  const found = await rows
    .find({ tenant: query.tenant, [field]: { $gt: range.low, $lt: range.high } })
    .sort({ [field]: range.descending ? -1 : 1 })
    .limit(query.limit + 1)
    .toArray();
  return found.map((row) => ({ key: textIn(row, field), row }));
}

/** The array's field is fixed by `equals`: one element matches, and the tail orders by a native multikey index. */
async function withinHead(
  rows: Rows,
  plan: IndexPlan,
  query: FindQuery,
  range: KeyRange,
  head: string,
): Promise<Hit[]> {
  const field = `t_${plan.name}`;
  const low = range.low.slice(head.length);
  const bounded = range.high.startsWith(head);
  const bounds = bounded ? { $gt: low, $lt: range.high.slice(head.length) } : { $gt: low };
  const found = await rows
    .find({ tenant: query.tenant, [`h_${plan.name}`]: head, [field]: bounds })
    .sort({ [field]: range.descending ? -1 : 1 })
    .limit(query.limit + 1)
    .toArray();
  return found.map((row) => ({ key: head + textIn(row, field), row }));
}

/**
 * The array's field is open, so one document may give several rows. MongoDB orders documents and not entries, so
 * the keys of all matching documents are read and ordered here, and then the page's documents. The cost grows
 * with the tenant's matching documents; a projection whose common query this is needs another index.
 */
async function unwound(rows: Rows, plan: IndexPlan, query: FindQuery, range: KeyRange): Promise<Hit[]> {
  const head = `h_${plan.name}`;
  const tail = `t_${plan.name}`;
  const [lowHead] = splitKey(range.low, plan.splitAt);
  const [highHead] = splitKey(range.high, plan.splitAt);
  const found = await rows
    .find(
      { tenant: query.tenant, [head]: { $elemMatch: { $gte: lowHead, $lte: highHead } } },
      { projection: { [head]: 1, [tail]: 1 } },
    )
    .toArray();
  const [low, high] = [Buffer.from(range.low), Buffer.from(range.high)];
  const entries = found
    .flatMap((row) => textsIn(row, head).map((each) => ({ id: row._id, key: each + textIn(row, tail) })))
    .map((entry) => ({ ...entry, bytes: Buffer.from(entry.key) }))
    .filter(({ bytes }) => Buffer.compare(bytes, low) > 0 && Buffer.compare(bytes, high) < 0)
    .sort((a, b) => (range.descending ? -1 : 1) * Buffer.compare(a.bytes, b.bytes))
    .slice(0, query.limit + 1);
  const documents = await rows.find({ _id: { $in: entries.map(({ id }) => id) } }).toArray();
  const byId = new Map(documents.map((row) => [row._id, row]));
  const hits = entries.flatMap(({ id, key }) => {
    const row = byId.get(id);
    return row === undefined || row.value === null ? [] : [{ key, row }];
  });
  // A document went in between: a short page would look like the last one.
  return hits.length < entries.length ? unwound(rows, plan, query, range) : hits;
}
