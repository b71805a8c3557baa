import type { SQLInputValue } from 'node:sqlite';
import type { JsonObject } from '../../../application/ports/read-store.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import { allCells, type Cells, inCells, numberAt, textAt } from '../../sqlite/cells.ts';
import { numberOf, type SqliteConnection } from '../../sqlite/connection.ts';
import { type FieldEntries, fieldEntries, heldValue, isCut } from '../field-entries.ts';
import type { TableShape, Tables } from './tables.ts';

/**
 * The tables of the index over fields: `f<number>` has the entries, `g<number>` the fields of each scope with their
 * number of entries, counted in the same transaction.
 */

/** A field of a scope. */
export interface IndexedField {
  readonly number: number;
  /** Documents with an entry, with or without a value. */
  readonly entries: number;
  /** Entries that hold only the beginning of a text. */
  readonly cut: number;
}

/** The field for which every document of a scope has an entry. */
const COMMON = '$created_at';

/**
 * Value in the entries of documents that have no value: a blob sorts after all values, and NULL cannot be part of a
 * primary key.
 */
export const MISSING = Buffer.alloc(0);

/**
 * A new field of a scope gets entries for the documents without a value only if the scope has at most this many
 * documents.
 */
const FILLED = 10_000;

/** The fields of a scope, by name. */
function indexedFields(
  { connection, number }: Tables,
  tenant: string,
  scope: string,
): ReadonlyMap<string, IndexedField> {
  const select = inCells(
    connection.prepare(`SELECT field, number, entries, cut FROM g${number} WHERE tenant = ? AND scope = ?`),
  );
  return new Map(allCells(select, [tenant, scope]).map((cells) => [textAt(cells, 0), fieldIn(cells, 1)]));
}

const fieldIn = (cells: Cells, at: number): IndexedField => ({
  number: numberAt(cells, at),
  entries: numberAt(cells, at + 1),
  cut: numberAt(cells, at + 2),
});

/** The fields of a scope that a search asks for. */
export interface KnownFields {
  get(name: string): IndexedField | undefined;
}

/**
 * Reads fields on demand, since an entity may have hundreds and a search names few. Each read also returns the field
 * of {@link COMMON}.
 */
export function knownFields({ connection, number }: Tables, tenant: string, scope: string): KnownFields {
  const select = inCells(
    connection.prepare(
      `SELECT c.number, c.entries, c.cut, g.number, g.entries, g.cut FROM g${number} AS c
       LEFT JOIN g${number} AS g ON g.tenant = c.tenant AND g.scope = c.scope AND g.field = ?
       WHERE c.tenant = ? AND c.scope = ? AND c.field = '${COMMON}'`,
    ),
  );
  const known = new Map<string, IndexedField | undefined>();
  return {
    get(name) {
      if (known.has(name)) return known.get(name);
      const [cells] = allCells(select, [name, tenant, scope]);
      known.set(COMMON, cells && fieldIn(cells, 0));
      known.set(name, cells === undefined || cells[3] === null ? undefined : fieldIn(cells, 3));
      return known.get(name);
    },
  };
}

/** Number of documents of a scope. */
export const documentsOf = (fields: KnownFields): number => fields.get(COMMON)?.entries ?? 0;

/** A value as an entry holds it. */
function entryValueOf(value: Scalar): SQLInputValue {
  const held = heldValue(value);
  if (held === null) return MISSING;
  return typeof held === 'boolean' ? Number(held) : held;
}

/** Whether entries name the rows of their documents. */
export function namesRows(connection: SqliteConnection, { number }: TableShape): boolean {
  const column = connection.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = 'row'");
  return column.get(`f${number}`) !== undefined;
}

interface Counted {
  number: number;
  entries: number;
  cut: number;
}

export type FieldWriter = ReturnType<typeof fieldWriter>;

/** Writes the entries of one transaction. */
export function fieldWriter(tables: Tables, scopedBy: string) {
  const { connection, number } = tables;
  const insert = connection.prepare(
    `INSERT OR IGNORE INTO f${number} (field, value, id, row) VALUES (?, ?, ?, ?)`,
  );
  const rowOf = connection.prepare(`SELECT row FROM d${number} WHERE tenant = ? AND id = ?`);
  const remove = connection.prepare(`DELETE FROM f${number} WHERE field = ? AND value = ? AND id = ?`);
  const scopes = new Map<string, Map<string, Counted>>();
  const changes: Counted[] = [];

  function scopeOf(tenant: string, scope: string): Map<string, Counted> {
    const key = `${tenant}/${scope}`;
    const known = scopes.get(key);
    if (known !== undefined) return known;
    const fields = new Map<string, Counted>();
    for (const [name, { number: nth }] of indexedFields(tables, tenant, scope)) {
      fields.set(name, counted(nth));
    }
    scopes.set(key, fields);
    return fields;
  }

  function counted(nth: number): Counted {
    const one = { number: nth, entries: 0, cut: 0 };
    changes.push(one);
    return one;
  }

  /** Gives numbers to fields that are new in the scope. */
  function addFields(tenant: string, { scope, values }: FieldEntries, known: Map<string, Counted>): void {
    for (const name of values.keys()) {
      if (known.has(name)) continue;
      const { lastInsertRowid } = connection
        .prepare(`INSERT INTO g${number} (tenant, scope, field, entries, cut) VALUES (?, ?, ?, 0, 0)`)
        .run(tenant, scope, name);
      const field = counted(Number(lastInsertRowid));
      const common = known.get(COMMON);
      known.set(name, field);
      if (common === undefined) continue;
      const before = indexedFields(tables, tenant, scope).get(COMMON)?.entries ?? 0;
      if (before + common.entries > FILLED) continue;
      const filled = connection
        .prepare(`INSERT INTO f${number} SELECT ?, ?, id, row FROM f${number} WHERE field = ?`)
        .run(field.number, MISSING, common.number);
      field.entries += Number(filled.changes);
    }
  }

  function put(field: Counted, value: Scalar, id: string, row: number): void {
    const isNew = insert.run(field.number, entryValueOf(value), id, row).changes !== 0;
    if (!isNew) return;
    field.entries += 1;
    if (isCut(value)) field.cut += 1;
  }

  function take(field: Counted, value: Scalar, id: string): void {
    if (remove.run(field.number, entryValueOf(value), id).changes === 0) return;
    field.entries -= 1;
    if (isCut(value)) field.cut -= 1;
  }

  return {
    /**
     * @param before the stored document, `after` the one that replaces it, `inserted` the number of its row if it is
     * new
     */
    change(
      tenant: string,
      id: string,
      before: JsonObject | undefined,
      after: JsonObject | undefined,
      inserted?: number,
    ): void {
      const old = before === undefined ? undefined : fieldEntries(before, scopedBy);
      const now = after === undefined ? undefined : fieldEntries(after, scopedBy);
      const stays = old !== undefined && old.scope === now?.scope;
      if (old !== undefined && !stays) {
        for (const [name, field] of scopeOf(tenant, old.scope)) take(field, old.values.get(name) ?? null, id);
      }
      if (now === undefined) return;
      const fields = scopeOf(tenant, now.scope);
      addFields(tenant, now, fields);
      const row = inserted ?? numberOf(rowOf.get(tenant, id), 'row');
      for (const [name, field] of fields) {
        const value = now.values.get(name) ?? null;
        const had = stays ? (old.values.get(name) ?? null) : undefined;
        if (had === value) continue;
        if (had !== undefined) take(field, had, id);
        put(field, value, id, row);
      }
    },
    /** Stores the counts; to be called at the end of the transaction. */
    finish(): void {
      const update = connection.prepare(
        `UPDATE g${number} SET entries = entries + ?, cut = cut + ? WHERE number = ?`,
      );
      for (const { number: nth, entries, cut } of changes) {
        if (entries !== 0 || cut !== 0) update.run(entries, cut, nth);
      }
    },
  };
}

/** Whether a document has all its entries, for checks. */
export function hasEntries(
  tables: Tables,
  scopedBy: string,
  { tenant, id, value }: { readonly tenant: string; readonly id: string; readonly value: JsonObject },
): boolean {
  const wanted = fieldEntries(value, scopedBy);
  if (wanted === undefined) return true;
  const fields = indexedFields(tables, tenant, wanted.scope);
  const entry = tables.connection.prepare(
    `SELECT 1 FROM f${tables.number} AS f JOIN d${tables.number} AS d ON ${tables.namesRows ? 'd.row = f.row' : 'd.id = f.id'}
     WHERE field = ? AND value = ? AND f.id = ? AND d.tenant = ? AND d.id = f.id`,
  );
  return [...wanted.values].every(([name, each]) => {
    const field = fields.get(name);
    return field !== undefined && entry.get(field.number, entryValueOf(each), id, tenant) !== undefined;
  });
}
