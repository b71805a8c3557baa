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
  StoredDoc,
} from '../../../application/ports/read-store.ts';
import { allCells, inCells, numberAt, textAt } from '../../sqlite/cells.ts';
import { optionalTextOf, type SqliteConnection, textOf } from '../../sqlite/connection.ts';
import {
  checkSingle,
  cursorOf,
  entriesOf,
  type IndexPlan,
  planIndex,
  planNamed,
  rangeOf,
  singleKey,
} from '../index-keys.ts';
import { pageRoom } from '../page-room.ts';
import { searchedFields } from '../searched.ts';
import { parseDocument, positionOf, specOf } from '../stored-values.ts';
import { entriesSql, findSql, rewriteSql, type TableShape, upsertSql } from './tables.ts';

/** The documents of one collection in one generation. Calls run inside the caller's transaction, if any. */
export interface Collection {
  readonly shape: TableShape;
  apply(write: DocWrite): void;
  load(tenant: string, id: string): StoredDoc | undefined;
  /** Like {@link load}, in the order of the ids. */
  loadMany(tenant: string, ids: readonly string[]): (StoredDoc | undefined)[];
  find(query: FindQuery): FindResult;
  entries(query: EntriesQuery): readonly Cursor[];
}

const storedKeys = z.array(z.string());
/** Number of ids from which one query loads all. */
const SEVERAL = 4;
const PLAIN = /^[ -~]*$/;

export function tableShape(number: number, spec: string): TableShape {
  const { indexes, searchable } = specOf(spec);
  return { number, indexes: indexes.map(planIndex), searchable };
}

export function openCollection(connection: SqliteConnection, shape: TableShape): Collection {
  const { number, indexes } = shape;
  const rewrite = connection.prepare(rewriteSql(shape));
  const upsert = connection.prepare(upsertSql(shape));
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
  const selectOld = connection.prepare(`SELECT id${keys} FROM d${number} WHERE tenant = ? AND id = ?`);

  function apply({ tenant, id, position, value }: DocWrite): void {
    const doc = value === null ? null : JSON.stringify(value);
    const lists = multi.map(({ plan }) => (value === null ? [] : multiKeys(plan, value, id)));
    const keys = indexes.map((plan, at) => {
      if (value === null) return null;
      return plan.multi === undefined
        ? singleKey(plan, value, id)
        : JSON.stringify(lists[multi.findIndex((each) => each.at === at)]);
    });
    const searched = value === null ? null : JSON.stringify(searchedFields(value));
    const row: SQLInputValue[] = [position, doc, ...(shape.searchable ? [searched] : [])];
    if (value !== null && rewrite.run(...row, tenant, id, position, ...keys).changes !== 0) return;
    const old = multi.length === 0 ? undefined : selectOld.get(tenant, id);
    if (upsert.run(...row, tenant, id, ...keys).changes === 0) return;
    for (const [nth, { at }] of multi.entries()) {
      const had = old === undefined ? undefined : optionalTextOf(old, `k${at}`);
      const before = had === undefined ? [] : storedKeys.parse(JSON.parse(had));
      replaceEntries(at, { tenant, id }, before, lists[nth] ?? []);
    }
  }

  /** Writes only changed entries: a document may have many, and changes usually one. */
  function replaceEntries(
    at: number,
    { tenant, id }: Pick<DocKey, 'tenant' | 'id'>,
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

  function loadMany(tenant: string, ids: readonly string[]): (StoredDoc | undefined)[] {
    // JSON in SQLite may change the bytes of other than plain texts.
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
    const statement = inCells(connection.prepare(entriesSql(shape, at, descending)));
    return allCells(statement, [query.tenant, low, high, query.limit]).map((cells) =>
      cursorOf(plan, textAt(cells, 0), query.equals?.length ?? 0),
    );
  }

  function find(query: FindQuery): FindResult {
    const { plan, at } = planNamed(indexes, query);
    const { low, high, descending } = rangeOf(plan, query);
    const statement = connection.prepare(findSql(shape, at, descending));
    const hasRoom = pageRoom<string>(
      query.limit,
      Buffer.byteLength,
      query.bounded ? undefined : Number.POSITIVE_INFINITY,
    );
    const docs: { id: string; value: JsonObject }[] = [];
    let last = '';
    for (const row of statement.iterate(query.tenant, low, high, query.limit + 1)) {
      const text = textOf(row, 'doc');
      if (!hasRoom(text)) return { docs, next: cursorOf(plan, last, query.equals?.length ?? 0) };
      docs.push({ id: textOf(row, 'id'), value: parseDocument(text) });
      last = textOf(row, 'key');
    }
    return { docs };
  }

  return { shape, apply, load, loadMany, find, entries };
}

export function multiKeys(plan: IndexPlan, value: NonNullable<DocWrite['value']>, id: string): string[] {
  const { heads, tail } = entriesOf(plan, value, id);
  return heads.map((head) => head + tail);
}
