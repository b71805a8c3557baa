import type { ListedDoc, StoredDoc } from '../../../application/ports/read-store.ts';
import { LIMIT_CLAUSE, type Row, textOf } from '../../sqlite/connection.ts';
import { singleKey } from '../index-keys.ts';
import { listed } from '../listed.ts';
import { searchedFields } from '../searched.ts';
import { parseDocument, positionOf } from '../stored-values.ts';
import { multiKeys } from './collection.ts';
import { hasEntries } from './field-index.ts';
import type { Tables } from './tables.ts';

/** Lists documents by tenant and id, for checks. */
export function listRows(
  tables: Tables,
  after: { readonly tenant: string; readonly id: string } | undefined,
  limit: number,
): ListedDoc[] {
  const keys = tables.indexes.map((_, at) => `, k${at}`).join('');
  const searched = tables.searchable ? ', json(s) AS searched' : '';
  const rows = tables.connection
    .prepare(
      `SELECT tenant, id, position, doc${keys}${searched} FROM d${tables.number}
       WHERE doc IS NOT NULL AND (tenant, id) > (?, ?) ORDER BY tenant, id ${LIMIT_CLAUSE}`,
    )
    .all(after?.tenant ?? '', after?.id ?? '', limit);
  return rows.map((row) =>
    listed(
      { tenant: textOf(row, 'tenant'), id: textOf(row, 'id') },
      () => ({ value: parseDocument(textOf(row, 'doc')), position: positionOf(textOf(row, 'position')) }),
      (doc) => isIndexed(tables, row, doc),
    ),
  );
}

function isIndexed(tables: Tables, row: Row, { value }: StoredDoc): boolean {
  const [tenant, id] = [textOf(row, 'tenant'), textOf(row, 'id')];
  const { number, indexes, searchable, scopedBy } = tables;
  if (scopedBy !== undefined && !hasEntries(tables, scopedBy, { tenant, id, value })) return false;
  if (searchable && JSON.stringify(searchedFields(value)) !== row.searched) return false;
  return indexes.every((plan, at) => {
    if (plan.multi === undefined) return row[`k${at}`] === singleKey(plan, value, id);
    const keys = multiKeys(plan, value, id);
    if (row[`k${at}`] !== JSON.stringify(keys)) return false;
    const entry = tables.connection.prepare(
      `SELECT 1 FROM e${number}_${at} WHERE tenant = ? AND key = ? AND id = ?`,
    );
    return keys.every((key) => entry.get(tenant, key, id) !== undefined);
  });
}
