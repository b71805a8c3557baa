import type { ListedDoc } from '../../../application/ports/read-store.ts';
import { textIn } from '../../mongodb/calls.ts';
import { listed } from '../listed.ts';
import { rowId, toRow, toStoredDoc } from './documents.ts';
import type { OpenCollection } from './generations.ts';

/** Lists documents by tenant and id, for checks. */
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
    const key = { tenant: textIn(row, 'tenant'), id: textIn(row, 'doc_id') };
    return listed(
      key,
      () => toStoredDoc(row),
      (doc) =>
        Object.entries(toRow({ collection: '', ...key, ...doc }, 0, collection))
          .filter(([name]) => name === 's' || /^[kht]_/.test(name))
          .every(([name, each]) => JSON.stringify(row[name]) === JSON.stringify(each)),
    );
  });
}
