import { z } from 'zod';
import { defineEvent, type EventOf } from '../event.ts';
import { typesSchema, valuesSchema } from './fields.ts';

/** The events of `record-<id>`: a record, its job, its notes, and who points to it (decisions, section 6). */

const base = { record_id: z.string(), entity_name: z.string() };
/** The version of a workflow that a job follows to its end. */
const workflow = { workflow: z.string(), workflow_version: z.number() };

/** `version` is 1. */
export const RecordCreated = defineEvent(
  'RecordCreated',
  z.object({
    ...base,
    /** All values, defaults included; a field without a value is left out. */
    values: valuesSchema,
    types: typesSchema,
    /** The revision of the schema's stream that the values were checked against. */
    schema_revision: z.number(),
    /** Of its references, by field key: what was registered at the target. */
    registrations: z.record(z.string(), z.string()).optional(),
    /** The id of whoever created it. */
    created_by: z.string(),
    /** Present for an entity with a workflow; the job's id is the record's. */
    job: z.object({ ...workflow, state: z.string() }).optional(),
  }),
);

export const RecordUpdated = defineEvent(
  'RecordUpdated',
  z.object({
    ...base,
    /** All values afterwards. */
    values: valuesSchema,
    types: typesSchema,
    /** Keys of the fields whose value is another one now. */
    changed: z.array(z.string()),
    version: z.number(),
    /** Of the references that are new, by field key. */
    registrations: z.record(z.string(), z.string()).optional(),
    /** Left out where the system cleared references. */
    schema_revision: z.number().optional(),
    /** The deleted record that this one pointed to, for a change that its deletion made. */
    cleared_by: z.string().optional(),
  }),
);

const deletion = {
  ...base,
  /** One attempt to delete a record with all that goes with it. */
  deletion_id: z.string(),
  /** The record whose deletion takes this one along. */
  cascade_of: z.string().optional(),
};

/** From here on the record is not found, and nothing can point to it anew. */
export const RecordDeletionStarted = defineEvent('RecordDeletionStarted', z.object(deletion));

/** Something that must stay points to the record, or to one that would go with it: it lives on. */
export const RecordDeletionAbandoned = defineEvent('RecordDeletionAbandoned', z.object(deletion));

export const RecordDeleted = defineEvent(
  'RecordDeleted',
  z.object({ ...deletion, values: valuesSchema, version: z.number() }),
);

/** On the target, before the referrer is written. */
export const ReferenceRegistered = defineEvent(
  'ReferenceRegistered',
  z.object({
    ...base,
    registration_id: z.string(),
    referrer: z.object({ record_id: z.string(), entity_name: z.string(), field_key: z.string() }),
  }),
);

/** On the target: the referrer was written, so that the read model knows it, or never will be. */
export const ReferenceReleased = defineEvent(
  'ReferenceReleased',
  z.object({ ...base, registration_ids: z.array(z.string()) }),
);

/** On the referrer: a write that counts on this registration comes too late. */
export const ReferenceBarred = defineEvent(
  'ReferenceBarred',
  z.object({ ...base, registration_id: z.string() }),
);

/** A workflow was attached to the entity after the record had been created. */
export const JobStarted = defineEvent('JobStarted', z.object({ ...base, ...workflow, state: z.string() }));

export const JobTransitioned = defineEvent(
  'JobTransitioned',
  z.object({
    ...base,
    ...workflow,
    from_state: z.string(),
    to_state: z.string(),
    event_name: z.string(),
    payload: valuesSchema.optional(),
    /** The role of whoever did it, at that moment. */
    role: z.string().optional(),
  }),
);

export const JobOverridden = defineEvent(
  'JobOverridden',
  z.object({
    ...base,
    ...workflow,
    from_state: z.string(),
    to_state: z.string(),
    reason: z.string(),
  }),
);

export const NoteAdded = defineEvent(
  'NoteAdded',
  z.object({
    ...base,
    note_id: z.string(),
    /** The person who wrote it, or who loaded the extension that did; null for an API token. */
    author_user_id: z.string().nullable(),
    author: z.object({ kind: z.string(), id: z.string() }),
    /** The stored form: mentions as ids. */
    body: z.string(),
    /** Active users it mentions, each once, never the author. */
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
