import { type AnyBulkWriteOperation, BSON, MongoBulkWriteError } from 'mongodb';
import type { DocWrite, StoredDoc } from '../../../application/ports/read-store.ts';
import { insertOnce, type Row, type Rows, textIn } from '../../mongodb/calls.ts';
import { entriesOf, type IndexPlan, singleKey } from '../index-keys.ts';
import { searchedFields } from '../searched.ts';
import { positionOf } from '../stored-values.ts';
import { documentIn, fieldOf, storedForm } from './native-documents.ts';

/**
 * How a document is stored: its fields under `value` (see {@link storedForm}). Each index has encoded keys of its own, so
 * that the order is the port's and not BSON's (which puts booleans after strings):
 *
 * - `k_<index>`: the key, for a single-valued index
 * - `h_<index>`, `t_<index>`: heads (an array, up to the field that meets an array) and the common tail
 *
 * - `s`: of a searchable collection, what filters compare: `keys`, `state`, `created_at`, `updated_at`; nothing that is
 *   null
 *
 * A deleted document stays as a tombstone: `value` null, no keys, `gone_at`. It keeps an older batch that is
 * applied again from bringing the document back, and goes after {@link TOMBSTONE_SECONDS}.
 */
export const TOMBSTONE_SECONDS = 24 * 3600;

export const rowId = (tenant: string, id: string): string => `${tenant}/${id}`;

/** What a collection's rows are made by. */
export interface Shape {
  readonly indexes: readonly IndexPlan[];
  readonly searchable: boolean;
  /** Whether the server takes an array within an array. */
  readonly nestedArrays: boolean;
}

export function toRow(write: DocWrite, fence: number, { indexes, searchable, nestedArrays }: Shape): Row {
  const { tenant, id, position, value } = write;
  const row: Row = { _id: rowId(tenant, id), tenant, doc_id: id, position, fence, value: null };
  if (value === null) return { ...row, gone_at: new Date() };
  row.value = storedForm(value, nestedArrays);
  if (searchable) row.s = searchedFields(value, fieldOf);
  for (const plan of indexes) {
    if (plan.multi === undefined) {
      row[`k_${plan.name}`] = singleKey(plan, value, id);
    } else {
      const { heads, tail } = entriesOf(plan, value, id);
      row[`h_${plan.name}`] = heads;
      row[`t_${plan.name}`] = tail;
    }
  }
  return row;
}

/** Undefined for a tombstone. */
export function toStoredDoc(row: Row | null | undefined): StoredDoc | undefined {
  if (row === null || row === undefined || row.value === null || row.value === undefined) return undefined;
  return { value: documentIn(row.value), position: positionOf(textIn(row, 'position')) };
}

/** Bytes of a row's document as it is stored. */
export function sizeOf({ value }: Row): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? BSON.calculateObjectSize(value) : 0;
}

/** Declared natively; `tenant` leads every query. */
export function indexKeys(plan: IndexPlan): Record<string, 1> {
  if (plan.multi === undefined) return { tenant: 1, [`k_${plan.name}`]: 1 };
  return { tenant: 1, [`h_${plan.name}`]: 1, [`t_${plan.name}`]: 1 };
}

/** The last write of each document: an unordered bulk must not hold two of one. */
export function lastWrites(writes: readonly DocWrite[]): DocWrite[] {
  const last = new Map<string, DocWrite>();
  for (const write of writes) {
    const key = `${write.collection}\n${rowId(write.tenant, write.id)}`;
    const before = last.get(key);
    if (before === undefined || before.position <= write.position) last.set(key, write);
  }
  return [...last.values()];
}

/**
 * Writes each row only over an older position and a fence not above its own.
 *
 * A conditional upsert finds nothing to update in two cases: there is no such document (it inserts) or the stored
 * one is newer (it fails on the duplicate `_id`). A third one hides in the second: another writer inserted an
 * older version at the same moment. So a duplicate is tried once more without upsert, which decides.
 *
 * @param oneByOne for servers that end an unordered bulk at its first error and look at every document for a filter
 * that has more than `_id` (FerretDB 1.x): there each row is an insert first
 */
export async function writeRows(rows: Rows, all: readonly Row[], oneByOne: boolean): Promise<void> {
  if (all.length === 0) return;
  const there = oneByOne ? await insertEach(rows, all) : await upsertAll(rows, all);
  if (there.length === 0) return;
  await rows.bulkWrite(
    there.map((row) => replacement(row, false)),
    { ordered: false },
  );
}

/** @returns the rows whose `_id` is there already */
async function insertEach(rows: Rows, all: readonly Row[]): Promise<Row[]> {
  const there: Row[] = [];
  for (const row of all) if (!(await insertOnce(rows, row))) there.push(row);
  return there;
}

/** @returns the rows whose `_id` is there already, newer or made at the same moment */
async function upsertAll(rows: Rows, all: readonly Row[]): Promise<Row[]> {
  try {
    await rows.bulkWrite(
      all.map((row) => replacement(row, true)),
      { ordered: false },
    );
    return [];
  } catch (error) {
    return duplicatesOf(error, all);
  }
}

function replacement(row: Row, upsert: boolean): AnyBulkWriteOperation<Row> {
  const { _id, ...fields } = row;
  const filter = { _id, position: { $lt: row.position }, fence: { $lte: row.fence } };
  return { replaceOne: { filter, replacement: fields, upsert } };
}

/** The rows of a bulk that met a duplicate `_id`; any other failure is thrown. */
function duplicatesOf(error: unknown, rows: readonly Row[]): Row[] {
  if (!(error instanceof MongoBulkWriteError)) throw error;
  const failures = [error.writeErrors].flat();
  const foreign = failures.some((failure) => failure.code !== 11000) || failures.length === 0;
  if (foreign || error.result.getWriteConcernError() !== undefined) throw error;
  return failures.flatMap((failure) => rows[failure.index] ?? []);
}
