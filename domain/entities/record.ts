import { z } from 'zod';
import { defineEvent, type EventMeta, type EventOf } from '../core/event.ts';
import { folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { type Types, typesSchema, type Values, valuesSchema } from './fields.ts';

/**
 * The stream `record-<id>`: a record's values, job, notes and references (specification, Entity record; decisions,
 * section 6). Its decisions are in record-values.ts, deletion.ts, notes.ts and domain/workflow/job.ts.
 */

// Events

const base = { record_id: z.string(), entity_name: z.string() };
/** The workflow's name and version, which are fixed for the life of the job. */
const workflow = { workflow: z.string(), workflow_version: z.number() };
const jobStart = z.object({ ...workflow, state: z.string() });
export type JobStart = Readonly<z.output<typeof jobStart>>;

/** The created record has version 1. */
export const RecordCreated = defineEvent(
  'RecordCreated',
  z.object({
    ...base,
    /** All values including defaults; a field without a value has no entry. */
    values: valuesSchema,
    types: typesSchema,
    /** Revision of the schema's stream at which the values were checked. */
    schema_revision: z.number(),
    /** Ids of the registrations in the streams of the referenced records, by field key. */
    registrations: z.record(z.string(), z.string()).optional(),
    /** Id of the actor. */
    created_by: z.string(),
    /** Set when the entity has a workflow; the job has the record's id. */
    job: jobStart.optional(),
  }),
);

export const RecordUpdated = defineEvent(
  'RecordUpdated',
  z.object({
    ...base,
    /** All values after the change. */
    values: valuesSchema,
    types: typesSchema,
    /** Keys of changed fields. */
    changed: z.array(z.string()),
    version: z.number(),
    /** Registrations of the new references, by field key. */
    registrations: z.record(z.string(), z.string()).optional(),
    /** Undefined when the system cleared references. */
    schema_revision: z.number().optional(),
    /** The deleted record to which this update clears references. */
    cleared_by: z.string().optional(),
  }),
);

const deletion = {
  ...base,
  /** Identifies one attempt to delete a record with its cascade. */
  deletion_id: z.string(),
  /** Id of the record whose deletion cascades to this one. */
  cascade_of: z.string().optional(),
};

/** Hides the record and refuses new references to it. */
export const RecordDeletionStarted = defineEvent('RecordDeletionStarted', z.object(deletion));

/** Restores the record, as a record that must stay refers to a marked one, or another deletion marked a needed one. */
export const RecordDeletionAbandoned = defineEvent('RecordDeletionAbandoned', z.object(deletion));

export const RecordDeleted = defineEvent(
  'RecordDeleted',
  z.object({ ...deletion, values: valuesSchema, version: z.number() }),
);

const referrer = z.object({ ...base, field_key: z.string() });
export type Referrer = z.output<typeof referrer>;

/** Appended to the target before the referrer is written. */
export const ReferenceRegistered = defineEvent(
  'ReferenceRegistered',
  z.object({ ...base, registration_id: z.string(), referrer }),
);

/** Appended to the target once the referrer is written or deleted, or can no longer be written. */
export const ReferenceReleased = defineEvent(
  'ReferenceReleased',
  z.object({ ...base, registration_ids: z.array(z.string()) }),
);

/** Appended to the referrer, so that it refuses later writes that use this registration. */
export const ReferenceBarred = defineEvent(
  'ReferenceBarred',
  z.object({ ...base, registration_id: z.string() }),
);

/** The entity got a workflow after the record was created. */
export const JobStarted = defineEvent('JobStarted', z.object({ ...base, ...jobStart.shape }));

const move = { ...base, ...workflow, from_state: z.string(), to_state: z.string() };

export const JobTransitioned = defineEvent(
  'JobTransitioned',
  z.object({
    ...move,
    event_name: z.string(),
    payload: valuesSchema.optional(),
    /** Role of the caller at that time. */
    role: z.string().optional(),
  }),
);

export const JobOverridden = defineEvent('JobOverridden', z.object({ ...move, reason: z.string() }));

export const NoteAdded = defineEvent(
  'NoteAdded',
  z.object({
    ...base,
    note_id: z.string(),
    /** The author, or the person who loaded the authoring extension; null for an API token. */
    author_user_id: z.string().nullable(),
    author: z.object({ kind: z.string(), id: z.string() }),
    /** Stored form, with mentions as ids. */
    body: z.string(),
    /** Mentioned active users without duplicates and without the author. */
    mentioned_user_ids: z.array(z.string()),
  }),
);

export const recordEvents = [
  RecordCreated,
  RecordUpdated,
  RecordDeletionStarted,
  RecordDeletionAbandoned,
  RecordDeleted,
  ReferenceRegistered,
  ReferenceReleased,
  ReferenceBarred,
  JobStarted,
  JobTransitioned,
  JobOverridden,
  NoteAdded,
] as const;
export type RecordEvent = EventOf<(typeof recordEvents)[number]>;

// State

/** State of a job (times in ms). A job has its record's id; its history is in the stream and the read model. */
export interface JobState extends JobStart {
  /** Counts states from 1: each transition and override adds one. */
  readonly version: number;
  readonly startedAt: number;
  readonly movedAt: number;
}

/** A referrer that may be about to be written; kept until the registration is released. */
export interface Registration {
  readonly id: string;
  readonly referrer: Referrer;
  readonly at: number;
}

export interface Deletion {
  readonly id: string;
  /** Id of the record whose deletion cascades to this one; undefined for the root. */
  readonly cascadeOf: string | undefined;
  readonly startedAt: number;
}

interface Present {
  readonly id: string;
  readonly entityName: string;
  readonly values: Values;
  readonly types: Types;
  /** Counts changes of values and state, from 1. */
  readonly version: number;
  readonly job?: JobState | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly createdBy: string;
  /** Registration of each reference's present value, by field key. */
  readonly registrations: Readonly<Record<string, string>>;
  /** True once a referrer was registered. */
  readonly referenced: boolean;
  /** Registrations that are not released yet. When there are many, a writer releases the finished and stale ones. */
  readonly pending: readonly Registration[];
  /** The latest registrations that writes may no longer use. */
  readonly barred: readonly string[];
}

export type LiveRecord = Present & { readonly status: 'live' };
export type DeletingRecord = Present & { readonly status: 'deleting'; readonly deletion: Deletion };
interface DeletedRecord extends Pick<Present, 'id' | 'entityName' | 'version' | 'referenced'> {
  readonly status: 'deleted';
  readonly deletion: Deletion;
}
type NoRecord = { readonly status: 'none'; readonly barred: readonly string[] };
export type RecordState = NoRecord | LiveRecord | DeletingRecord | DeletedRecord;

const MAX_BARRED = 64;

const startedJob = (job: JobStart, { at }: EventMeta): JobState => ({
  ...job,
  version: 1,
  startedAt: at,
  movedAt: at,
});

export const isPresent = (state: RecordState): state is LiveRecord | DeletingRecord =>
  state.status === 'live' || state.status === 'deleting';

const onPresent = onlyIn(isPresent);

const moved = onPresent(
  (state, { to_state }: z.output<typeof JobTransitioned.schema | typeof JobOverridden.schema>, { at }) => {
    if (state.job === undefined) return state;
    const job = { ...state.job, state: to_state, version: state.job.version + 1, movedAt: at };
    return { ...state, job, version: state.version + 1, updatedAt: at };
  },
);

export const recordStream: StreamType<RecordState, RecordEvent> = {
  category: 'record',
  stateVersion: 1,
  initial: { status: 'none', barred: [] },
  evolve: folded({
    RecordCreated: (state, data, meta) => ({
      status: 'live',
      id: data.record_id,
      entityName: data.entity_name,
      values: data.values,
      types: data.types,
      version: 1,
      ...(data.job === undefined ? {} : { job: startedJob(data.job, meta) }),
      createdAt: meta.at,
      updatedAt: meta.at,
      createdBy: data.created_by,
      registrations: data.registrations ?? {},
      referenced: false,
      pending: [],
      barred: state.status === 'none' ? state.barred : [],
    }),
    RecordUpdated: onPresent((state, { values, types, version, registrations = {} }, { at }) => {
      const all = { ...state.registrations, ...registrations };
      // Registrations of fields without a value are dropped.
      const kept = Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(values, key)));
      return { ...state, values, types, version, registrations: kept, updatedAt: at };
    }),
    RecordDeletionStarted: onPresent((state, { deletion_id: id, cascade_of: cascadeOf }, { at }) => ({
      ...state,
      status: 'deleting',
      deletion: { id, cascadeOf, startedAt: at },
    })),
    RecordDeletionAbandoned: onPresent((state) => {
      const { deletion: _ended, ...rest } = { deletion: undefined, ...state };
      return { ...rest, status: 'live' };
    }),
    RecordDeleted: onPresent((state, { version, deletion_id, cascade_of: cascadeOf }, { at }) => {
      const { id, entityName, referenced } = state;
      const deletion = { id: deletion_id, cascadeOf, startedAt: at };
      return { status: 'deleted', id, entityName, version, deletion, referenced };
    }),
    ReferenceRegistered: onPresent((state, { registration_id: id, referrer }, { at }) => ({
      ...state,
      referenced: true,
      pending: [...state.pending, { id, referrer, at }],
    })),
    ReferenceReleased: onPresent((state, { registration_ids }) => {
      const released = new Set(registration_ids);
      return { ...state, pending: state.pending.filter(({ id }) => !released.has(id)) };
    }),
    ReferenceBarred: (state, { registration_id }) =>
      state.status === 'deleted'
        ? state
        : { ...state, barred: [...state.barred, registration_id].slice(-MAX_BARRED) },
    JobStarted: onPresent((state, { workflow, workflow_version, state: initial }, meta) => ({
      ...state,
      job: startedJob({ workflow, workflow_version, state: initial }, meta),
      version: state.version + 1,
      updatedAt: meta.at,
    })),
    JobTransitioned: moved,
    JobOverridden: moved,
    NoteAdded: (state) => state,
  }),
};
