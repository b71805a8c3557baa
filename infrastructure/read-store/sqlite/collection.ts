import type { SQLInputValue } from 'node:sqlite';
import { z } from 'zod';
import type {
  Cursor,
  DocKey,
  DocWrite,
  EntriesQuery,
  FindQuery,
  FindResult,
  JsonObject,
  RangeQuery,
  StoredDoc,
} from '../../../application/ports/read-store.ts';
import { allCells, inCells, iterateCells, numberAt, textAt } from '../../sqlite/cells.ts';
import { optionalTextOf, type SqliteConnection, textOf } from '../../sqlite/connection.ts';
import {
  checkSingle,
  cursorOf,
  entriesOf,
  type IndexPlan,
  planIndex,
  planNamed,
  rangeOf,
  sameKeys,
  singleKey,
} from '../index-keys.ts';
import { pageRoom } from '../page-room.ts';
import { searchedFields } from '../searched.ts';
import { parseDocument, positionOf, specOf } from '../stored-values.ts';
import { type FieldWriter, fieldWriter, namesRows } from './field-index.ts';
import { entriesSql, findSql, rewriteSql, type TableShape, upsertSql } from './tables.ts';

/** The documents of one collection in one generation. */
export type Collection = ReturnType<typeof openCollection>;
export type CollectionWriter = ReturnType<Collection['writer']>;

/** Above the number of documents of any collection. */
const ALL = 2 ** 31;
const storedKeys = z.array(z.string());
/** From this number of ids on, one query loads all of them. */
const SEVERAL = 4;
const PLAIN = /^[ -~]*$/;

export function tableShape(number: number, spec: string): TableShape {
  const { indexes, searchable, scopedBy } = specOf(spec);
  return { number, indexes: indexes.map(planIndex), searchable, scopedBy };
}

/** The functions of a collection run inside the caller's transaction, if there is one. */
export function openCollection(connection: SqliteConnection, shape: TableShape) {
  const tables = { ...shape, connection, namesRows: namesRows(connection, shape) };
  const { number, indexes } = shape;
  const upsert = connection.prepare(upsertSql(tables));
  const select = connection.prepare(`SELECT position, doc FROM d${number} WHERE tenant = ? AND id = ?`);
  // One query for many ids, because a rebuild asks for many documents that do not exist yet.
  const selectMany = inCells(
    connection.prepare(
      `SELECT j.key, position, doc FROM json_each(?) j CROSS JOIN d${number} d
       ON d.tenant = ? AND d.id = j.value WHERE doc IS NOT NULL`,
    ),
  );
  const multi = indexes.flatMap((plan, at) => (plan.multi === undefined ? [] : [{ plan, at }]));
  const keys = multi.map(({ at }) => `, k${at}`).join('');
  const selectOld = connection.prepare(
    `SELECT position${keys}${tables.scopedBy === undefined ? '' : ', doc'} FROM d${number} WHERE tenant = ? AND id = ?`,
  );

  function apply(write: DocWrite, fields: FieldWriter | undefined): void {
    if (tryRewrite(write)) {
      fields?.change(write.tenant, write.id, write.replaces?.value, write.value ?? undefined);
      return;
    }
    const { tenant, id, position, value } = write;
    const doc = value === null ? null : JSON.stringify(value);
    const row: SQLInputValue[] = [tenant, id, position, doc];
    const lists = value === null ? undefined : multi.map(({ plan }) => multiKeys(plan, value, id));
    let nth = 0;
    for (const plan of indexes) {
      if (value === null) row.push(null);
      else if (plan.multi === undefined) row.push(singleKey(plan, value, id));
      else row.push(JSON.stringify(lists?.[nth++] ?? []));
    }
    if (tables.searchable) row.push(value === null ? null : JSON.stringify(searchedFields(value)));
    if (multi.length === 0 && fields === undefined) {
      upsert.run(...row);
      return;
    }
    const old = selectOld.get(tenant, id);
    if (old !== undefined && textOf(old, 'position') >= position) return;
    const { lastInsertRowid } = upsert.run(...row);
    if (fields !== undefined) {
      const before = old === undefined ? undefined : optionalTextOf(old, 'doc');
      const inserted = old === undefined ? Number(lastInsertRowid) : undefined;
      const replaced = before === undefined ? undefined : parseDocument(before);
      fields.change(tenant, id, replaced, value ?? undefined, inserted);
    }
    for (const [nth, { at }] of multi.entries()) {
      const had = old === undefined ? undefined : optionalTextOf(old, `k${at}`);
      replaceEntries(
        at,
        write,
        had === undefined ? [] : storedKeys.parse(JSON.parse(had)),
        lists?.[nth] ?? [],
      );
    }
  }

  /**
   * Updates a document if its stored version is the one that the write replaces. Writes only the index columns whose
   * keys differ, since most changes move a document in one index or none.
   */
  function tryRewrite({ tenant, id, position, value, replaces }: DocWrite): boolean {
    if (value === null || replaces === undefined || replaces.position >= position) return false;
    const row: SQLInputValue[] = [position, JSON.stringify(value)];
    if (tables.searchable) row.push(JSON.stringify(searchedFields(value)));
    const moved: number[] = [];
    for (const [at, plan] of indexes.entries()) {
      if (!sameKeys(plan, replaces.value, value)) {
        if (plan.multi !== undefined) return false;
        moved.push(at);
        row.push(singleKey(plan, value, id));
      }
    }
    row.push(tenant, id, replaces.position);
    return connection.prepare(rewriteSql(tables, moved)).run(...row).changes !== 0;
  }

  /** Writes only changed entries, since most changes affect one entry of many. */
  function replaceEntries(
    at: number,
    { tenant, id }: DocKey,
    old: readonly string[],
    wanted: readonly string[],
  ): void {
    const keep = new Set(wanted);
    const had = new Set(old);
    const remove = connection.prepare(`DELETE FROM e${number}_${at} WHERE tenant = ? AND key = ?`);
    const insert = connection.prepare(`INSERT INTO e${number}_${at} (tenant, key, id) VALUES (?, ?, ?)`);
    for (const key of had) if (!keep.has(key)) remove.run(tenant, key);
    for (const key of keep) if (!had.has(key)) insert.run(tenant, key, id);
  }

  function load(tenant: string, id: string): StoredDoc | undefined {
    const row = select.get(tenant, id);
    const doc = row === undefined ? undefined : optionalTextOf(row, 'doc');
    if (row === undefined || doc === undefined) return undefined;
    return { value: parseDocument(doc), position: positionOf(textOf(row, 'position')) };
  }

  /** Like {@link load}, in the order of the ids. */
  function loadMany(tenant: string, ids: readonly string[]): (StoredDoc | undefined)[] {
    // SQLite's JSON functions may change the bytes of ids that are not plain.
    if (ids.length < SEVERAL || !ids.every((id) => PLAIN.test(id))) return ids.map((id) => load(tenant, id));
    const found = new Array<StoredDoc | undefined>(ids.length).fill(undefined);
    for (const row of allCells(selectMany, [JSON.stringify(ids), tenant])) {
      found[numberAt(row, 0)] = {
        value: parseDocument(textAt(row, 2)),
        position: positionOf(textAt(row, 1)),
      };
    }
    return found;
  }

  function entries(query: EntriesQuery): readonly Cursor[] {
    const { plan, at } = planNamed(indexes, query);
    const { low, high, descending } = rangeOf(plan, query);
    checkSingle(plan);
    const statement = inCells(connection.prepare(entriesSql(tables, at, descending)));
    return allCells(statement, [query.tenant, low, high, query.limit]).map((cells) =>
      cursorOf(plan, textAt(cells, 0), query.equals?.length ?? 0),
    );
  }

  /** A statement that selects key, id and text of a range; the statement's parameters: tenant, low, high, limit. */
  function inRange(query: FindQuery) {
    const { plan, at } = planNamed(indexes, query);
    const { low, high, descending } = rangeOf(plan, query);
    return { plan, low, high, statement: inCells(connection.prepare(findSql(tables, at, descending))) };
  }

  /** All documents of a range, as JSON. */
  function texts(query: RangeQuery): readonly string[] {
    const { low, high, statement } = inRange({ ...query, limit: ALL });
    return allCells(statement, [query.tenant, low, high, ALL]).map((cells) => textAt(cells, 2));
  }

  function find(query: FindQuery): FindResult {
    const { plan, low, high, statement } = inRange(query);
    const hasRoom = pageRoom<string>(query.limit, Buffer.byteLength);
    const docs: { id: string; value: JsonObject }[] = [];
    let last = '';
    for (const cells of iterateCells(statement, [query.tenant, low, high, query.limit + 1])) {
      const text = textAt(cells, 2);
      if (!hasRoom(text)) return { docs, next: cursorOf(plan, last, query.equals?.length ?? 0) };
      docs.push({ id: textAt(cells, 1), value: parseDocument(text) });
      last = textAt(cells, 0);
    }
    return { docs };
  }

  /** Begins the writes of one transaction; `finish` ends them. */
  function writer() {
    const { scopedBy } = tables;
    const fields = scopedBy === undefined ? undefined : fieldWriter(tables, scopedBy);
    return { apply: (write: DocWrite) => apply(write, fields), finish: () => fields?.finish() };
  }

  return { tables, writer, load, loadMany, find, texts, entries };
}

export function multiKeys(plan: IndexPlan, value: NonNullable<DocWrite['value']>, id: string): string[] {
  const { heads, tail } = entriesOf(plan, value, id);
  return heads.map((head) => head + tail);
}
