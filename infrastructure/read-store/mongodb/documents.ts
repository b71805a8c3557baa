import { type AnyBulkWriteOperation, BSON } from 'mongodb';
import type { DocWrite, StoredDoc } from '../../../application/ports/read-store.ts';
import { duplicatesOf, insertOnce, type Row, type Rows, textIn } from '../../mongodb/calls.ts';
import { entriesOf, type IndexPlan, singleKey } from '../index-keys.ts';
import { searchedFields } from '../searched.ts';
import { positionOf } from '../stored-values.ts';
import { documentIn, fieldOf, storedForm } from './native-documents.ts';

/**
 * The stored form of a document: its fields under `value` (see {@link storedForm}). Index keys are encoded, since
 * BSON puts booleans after strings, but the port orders them before numbers:
 *
 * - `k_<index>`: the key, for a single-valued index
 * - `h_<index>`, `t_<index>`: heads (an array, up to the array field) and the common tail
 * - `s`: the fields that filters compare, for a searchable collection: `keys`, `state`, `created_at`, `updated_at`;
 *   no nulls
 *
 * A deleted document stays as a tombstone: `value` null, no keys, `gone_at`. It prevents a repeated older batch from
 * restoring the document, and expires after {@link TOMBSTONE_SECONDS}.
 */
export const TOMBSTONE_SECONDS = 24 * 3600;

export const rowId = (tenant: string, id: string): string => `${tenant}/${id}`;

/** Determines the form of a collection's rows. */
export interface Shape {
  readonly indexes: readonly IndexPlan[];
  readonly searchable: boolean;
  /** Whether the server supports nested arrays. */
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

/** Bytes of a row's stored document. */
export function sizeOf({ value }: Row): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? BSON.calculateObjectSize(value) : 0;
}

/** The MongoDB index that serves an index of the collection; `tenant` is first, since every query names it. */
export function indexKeys(plan: IndexPlan): Record<string, 1> {
  if (plan.multi === undefined) return { tenant: 1, [`k_${plan.name}`]: 1 };
  return { tenant: 1, [`h_${plan.name}`]: 1, [`t_${plan.name}`]: 1 };
}

/** The last write of each document, since an unordered bulk must not write a document twice. */
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
 * Writes each row unless the stored row has the same or a newer position, or a higher fence.
 *
 * A conditional upsert matches no row in three cases. 1: the document does not exist; it is inserted. 2: the stored
 * row must stay. 3: another writer has just inserted an older row. Cases 2 and 3 fail on the duplicate `_id`, and are
 * tried again without upsert, which changes a row only in case 3.
 *
 * @param oneByOne for servers that end an unordered bulk at its first error and scan all documents for a filter with
 * more than `_id` (FerretDB 1.x): each row is first inserted alone
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

/** @returns the rows whose `_id` exists */
async function insertEach(rows: Rows, all: readonly Row[]): Promise<Row[]> {
  const there: Row[] = [];
  for (const row of all) if (!(await insertOnce(rows, row))) there.push(row);
  return there;
}

/** @returns the rows whose `_id` exists, because the stored row must stay or was inserted at the same moment */
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
