import type { ListedDoc, StoredDoc } from '../../../application/ports/read-store.ts';
import { type Row, textIn } from '../../mongodb/calls.ts';
import { rowId, toRow, toStoredDoc } from './documents.ts';
import type { OpenCollection } from './generations.ts';

/** Lists documents by tenant and id, for checks. A damaged document is listed without its value. */
export async function listRows(
  collection: OpenCollection,
  after: { readonly tenant: string; readonly id: string } | undefined,
  limit: number,
): Promise<ListedDoc[]> {
  const behind = after === undefined ? {} : { _id: { $gt: rowId(after.tenant, after.id) } };
  const rows = await collection.rows
    // Includes damaged values, and excludes tombstones.
    .find({ ...behind, value: { $ne: null } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();
  return rows.map((row) => {
    const [tenant, id] = [textIn(row, 'tenant'), textIn(row, 'doc_id')];
    const doc = docIn(row);
    return { tenant, id, doc, isIndexed: doc !== undefined && isIndexed(collection, row, tenant, id, doc) };
  });
}

function docIn(row: Row): StoredDoc | undefined {
  try {
    return toStoredDoc(row);
  } catch {
    return undefined;
  }
}

function isIndexed(
  collection: OpenCollection,
  row: Row,
  tenant: string,
  id: string,
  { value, position }: StoredDoc,
): boolean {
  try {
    const wanted = toRow({ collection: '', tenant, id, value, position }, 0, collection);
    return Object.entries(wanted)
      .filter(([name]) => name === 's' || /^[kht]_/.test(name))
      .every(([name, each]) => JSON.stringify(row[name]) === JSON.stringify(each));
  } catch {
    // A damaged document may have values that cannot be indexed.
    return false;
  }
}
