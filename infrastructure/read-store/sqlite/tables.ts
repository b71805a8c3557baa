import { LIMIT_CLAUSE, type SqliteConnection } from '../../sqlite/connection.ts';
import type { IndexPlan } from '../index-keys.ts';

/**
 * The SQL of one collection. Documents are rows of `d<number>`, with the key of each single-valued index in a column
 * `k<at>` under an SQLite index. A multi-valued index has its entries in `e<number>_<at>`; `k<at>` lists them, so
 * that a write finds the changed entries. `s` holds the searched fields (searched.ts) as SQLite's binary JSON. A
 * deleted document leaves a tombstone, a row without text that is in no index, so that a repeated older batch does
 * not restore it.
 */
export interface TableShape {
  readonly number: number;
  readonly indexes: readonly IndexPlan[];
  readonly searchable?: boolean;
  /** The member that names a document's scope in the index over fields, which has tables of its own. */
  readonly scopedBy?: string | undefined;
  /** Whether entries of the index over fields name rows; entries before version 3 of `records` do not. */
  readonly namesRows?: boolean;
}

/** The tables of a collection, on a connection. */
export interface Tables extends TableShape {
  readonly connection: SqliteConnection;
}

export function createSql({ number, indexes, searchable, scopedBy }: TableShape): string {
  const columns = indexes.map((_, at) => `, k${at} TEXT`).join('');
  const lookups = indexes.map((plan, at) =>
    plan.multi === undefined
      ? `CREATE INDEX d${number}_${at} ON d${number} (tenant, k${at}) WHERE k${at} IS NOT NULL`
      : `CREATE TABLE e${number}_${at} (
           tenant TEXT NOT NULL, key TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (tenant, key)
         ) WITHOUT ROWID`,
  );
  return [
    `CREATE TABLE d${number} (${scopedBy === undefined ? '' : ' row INTEGER PRIMARY KEY,'}
       tenant TEXT NOT NULL, id TEXT NOT NULL, position TEXT NOT NULL${searchable ? ', s BLOB' : ''},
       doc TEXT${columns}, UNIQUE (tenant, id)
     )`,
    `CREATE INDEX d${number}_gone ON d${number} (position) WHERE doc IS NULL`,
    ...lookups,
    ...(scopedBy === undefined ? [] : [fieldTablesSql(number)]),
  ].join(';\n');
}

/** The tables of the index over fields (field-index.ts). */
function fieldTablesSql(number: number): string {
  return `CREATE TABLE f${number} (
      field INTEGER NOT NULL, value, id TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (field, value, id)
    ) WITHOUT ROWID;
    CREATE TABLE g${number} (
      number INTEGER PRIMARY KEY, tenant TEXT NOT NULL, scope TEXT NOT NULL, field TEXT NOT NULL,
      entries INTEGER NOT NULL, cut INTEGER NOT NULL, UNIQUE (tenant, scope, field)
    )`;
}

export function dropSql({ number, indexes, scopedBy }: TableShape): string {
  const entries = indexes.flatMap((plan, at) => (plan.multi === undefined ? [] : [`e${number}_${at}`]));
  const fields = scopedBy === undefined ? [] : [`f${number}`, `g${number}`];
  return [`d${number}`, ...entries, ...fields].map((table) => `DROP TABLE IF EXISTS ${table}`).join(';\n');
}

/** Writes a document that is newer than the stored one. Parameters: tenant, id, position, text, keys, `s` as JSON. */
export function upsertSql({ number, indexes, searchable }: TableShape): string {
  const columns = ['tenant', 'id', 'position', 'doc', ...indexes.map((_, at) => `k${at}`)];
  if (searchable) columns.push('s');
  const updates = columns.slice(2).map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO d${number} (${columns.join(', ')}) VALUES (${columns.map((column) => (column === 's' ? 'jsonb(?)' : '?')).join(', ')})
    ON CONFLICT (tenant, id) DO UPDATE SET ${updates.join(', ')} WHERE excluded.position > position`;
}

/**
 * Replaces a document that is still at the given position, and its keys in the indexes `moved`. Omits other key
 * columns, because SQLite rewrites the index entry of every column in an update. Parameters: position, document, `s`
 * as JSON if searchable, the keys, tenant, id, the former position.
 */
export function rewriteSql({ number, searchable }: TableShape, moved: readonly number[]): string {
  const keys = moved.map((at) => `, k${at} = ?`).join('');
  return `UPDATE d${number} SET position = ?, doc = ?${searchable ? ', s = jsonb(?)' : ''}${keys}
    WHERE tenant = ? AND id = ? AND position = ? AND doc IS NOT NULL`;
}

/** Parameters: tenant, exclusive lower and upper key, number of rows. */
export function findSql({ number, indexes }: TableShape, at: number, descending: boolean): string {
  const direction = descending ? 'DESC' : 'ASC';
  if (indexes[at]?.multi === undefined) {
    return `SELECT k${at} AS key, id, doc FROM d${number}
      WHERE tenant = ? AND k${at} > ? AND k${at} < ? ORDER BY k${at} ${direction} ${LIMIT_CLAUSE}`;
  }
  return `SELECT e.key AS key, d.id AS id, d.doc AS doc
    FROM e${number}_${at} AS e CROSS JOIN d${number} AS d ON d.tenant = e.tenant AND d.id = e.id
    WHERE e.tenant = ? AND e.key > ? AND e.key < ? ORDER BY e.key ${direction} ${LIMIT_CLAUSE}`;
}

/** Reads only the index, no page of a document. The parameters are those of {@link findSql}. */
export function entriesSql({ number }: TableShape, at: number, descending: boolean): string {
  return `SELECT k${at} FROM d${number} WHERE tenant = ? AND k${at} > ? AND k${at} < ?
    ORDER BY k${at} ${descending ? 'DESC' : 'ASC'} ${LIMIT_CLAUSE}`;
}

/** Parameter: the checkpoint. */
export function sweepSql({ number }: TableShape): string {
  return `DELETE FROM d${number} WHERE doc IS NULL AND position <= ?`;
}
