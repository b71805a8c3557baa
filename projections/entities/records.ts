import { collection } from '../../domain/core/collection.ts';
import type { EventOf } from '../../domain/core/event.ts';
import {
  type DocumentReader,
  iso,
  type Page,
  type PageRequest,
  projection,
} from '../../domain/core/projection.ts';
import type { Types, Values } from '../../domain/entities/fields.ts';
import type { NoteAdded, RecordEvent } from '../../domain/entities/record.ts';
import type { Filter, SortField } from '../../domain/expressions/filter-tree.ts';
import { type OrderKey, orderKeys } from '../../domain/expressions/order-key.ts';

/** The records of a tenant and their notes (decisions, section 6). */

export interface RecordDoc {
  readonly id: string;
  readonly entity_name: string;
  /** The entity's name; null while the record is being deleted. */
  readonly listed: string | null;
  readonly values: Values;
  /** Order keys by field, for filters and sorts. */
  readonly keys: Readonly<Record<string, OrderKey>>;
  /** Ids of the records that this record refers to. */
  readonly refs: readonly string[];
  /** The state of the record's job; null without a job. */
  readonly state: string | null;
  readonly job_id: string | null;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly created_by: string;
  /** Id of the open attempt to delete the record. */
  readonly deletion_id: string | null;
}

export interface NoteDoc
  extends Pick<EventOf<typeof NoteAdded>['data'], 'record_id' | 'author' | 'author_user_id' | 'body'> {
  readonly id: string;
  /** Revision in the record's stream: the order of the list. */
  readonly seq: number;
  readonly created_at: string;
}

const valued = (types: Types, values: Values) => ({
  values,
  keys: orderKeys(types, values),
  refs: [
    ...new Set(
      Object.entries(values).flatMap(([key, value]) =>
        types[key] === 'reference' && typeof value === 'string' ? [value] : [],
      ),
    ),
  ],
});

const records = collection<RecordDoc>('records');
const notes = collection<NoteDoc>('notes');

const changed = (id: string, change: (document: RecordDoc) => RecordDoc) => [records.change(id, change)];

const moved = (data: { record_id: string; to_state: string }, at: number) =>
  changed(data.record_id, (record) => ({
    ...record,
    state: data.to_state,
    version: record.version + 1,
    updated_at: iso(at),
  }));

export const recordsProjection = projection<RecordEvent>({
  name: 'records',
  version: 3,
  collections: [
    {
      name: 'records',
      searchable: true,
      scopedBy: 'listed',
      indexes: [
        { name: 'by_created_at', fields: ['listed', 'created_at'] },
        { name: 'by_entity', fields: ['entity_name'] },
        { name: 'by_ref', fields: ['refs'], multi: 'refs' },
        { name: 'by_deletion', fields: ['deletion_id'] },
      ],
    },
    { name: 'notes', indexes: [{ name: 'by_record', fields: ['record_id', 'seq'] }] },
  ],
  on: {
    RecordCreated: ({ data, at }) => [
      records.put(data.record_id, {
        id: data.record_id,
        entity_name: data.entity_name,
        listed: data.entity_name,
        ...valued(data.types, data.values),
        state: data.job?.state ?? null,
        job_id: data.job === undefined ? null : data.record_id,
        version: 1,
        created_at: iso(at),
        updated_at: iso(at),
        created_by: data.created_by,
        deletion_id: null,
      }),
    ],

    RecordUpdated: ({ data, at }) =>
      changed(data.record_id, (record) => ({
        ...record,
        ...valued(data.types, data.values),
        version: data.version,
        updated_at: iso(at),
      })),

    RecordDeletionStarted: ({ data }) =>
      changed(data.record_id, (record) => ({ ...record, listed: null, deletion_id: data.deletion_id })),

    RecordDeletionAbandoned: ({ data }) =>
      changed(data.record_id, (record) => ({ ...record, listed: record.entity_name, deletion_id: null })),

    RecordDeleted: ({ data }) => [records.remove(data.record_id)],

    JobStarted: ({ data, at }) =>
      changed(data.record_id, (record) => ({
        ...record,
        state: data.state,
        job_id: data.record_id,
        version: record.version + 1,
        updated_at: iso(at),
      })),
    JobTransitioned: ({ data, at }) => moved(data, at),
    JobOverridden: ({ data, at }) => moved(data, at),

    NoteAdded: ({ data, at, revision }) => [
      notes.put(data.note_id, {
        id: data.note_id,
        record_id: data.record_id,
        seq: revision,
        author: data.author,
        author_user_id: data.author_user_id,
        body: data.body,
        created_at: iso(at),
      }),
    ],
  },
});

// Queries

/** A record that is not being deleted. */
export const recordById = async (
  reader: DocumentReader,
  tenantId: string,
  entityName: string,
  id: string,
): Promise<RecordDoc | undefined> => {
  const record = await records.get(reader, tenantId, id);
  return record?.listed === entityName ? record : undefined;
};

/** Records of an entity that a filter selects; sorted newest first by default. */
export const searchRecordsOf = (
  reader: DocumentReader,
  tenantId: string,
  entityName: string,
  query: PageRequest & SelectedBy & { readonly sort: SortField | undefined },
): Promise<Page<RecordDoc>> =>
  reader.search('records', tenantId, {
    index: 'by_created_at',
    equals: [entityName],
    order: 'desc',
    ...query,
  });

export interface SelectedBy {
  readonly filter: Filter | undefined;
  /** The value of the filter's `now()`, ms. */
  readonly now: number;
}

/** Ids of the records of an entity that a filter selects, newest first. */
export const idsOfRecords = (
  reader: DocumentReader,
  tenantId: string,
  entityName: string,
  query: PageRequest & SelectedBy,
): Promise<Page<string>> =>
  reader.ids('records', tenantId, { index: 'by_created_at', equals: [entityName], order: 'desc', ...query });

export const countRecordsOf = (
  reader: DocumentReader,
  tenantId: string,
  entityName: string,
  selection: SelectedBy & { readonly withinMs?: number },
): Promise<number> =>
  reader.count('records', tenantId, { index: 'by_created_at', equals: [entityName], ...selection });

/** All records of an entity, including records being deleted. */
export const allRecordsOf = records.listOf('by_entity', 'asc');

/** All records of a tenant, by entity, including records being deleted. */
export const recordsOfTenant = records.list('by_entity', 'asc');

/** Records that refer to a given record, including records being deleted. */
export const referrersOf = records.listOf('by_ref', 'asc');

/** Records that a deletion attempt has marked. */
export const recordsBeingDeleted = records.listOf('by_deletion', 'asc');

/** Notes of a record, oldest first. */
export const notesOf = notes.listOf('by_record', 'asc');
