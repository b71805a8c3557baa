import { z } from 'zod';
import { defineEvent, type EventOf } from '../core/event.ts';
import { json } from '../entities/fields.ts';
import { OUTCOME_CODES } from './outcomes.ts';

/** The events of `bulk-<id>`: a session, its frozen rows, its progress (specification, Bulk operation session). */

const base = { session_id: z.string() };
const count = z.int().nonnegative();

/** The operation on each row. */
export const opParams = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('edit'),
    fields: z.array(z.object({ field_key: z.string(), new_value: json })),
  }),
  z.object({ kind: z.literal('delete') }),
  z.object({ kind: z.literal('transition'), event_name: z.string() }),
]);
export type OpParams = z.output<typeof opParams>;

/** `ids` needs no further member: the frozen rows hold the ids. */
const selection = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('ids') }),
  z.object({
    kind: z.literal('filter'),
    /** The filter as given: text or object form. */
    filter_expr: json,
    /** The same filter, parsed and checked (domain/expressions/filter-tree.ts). */
    filter: json,
    count_at_preview: count.optional(),
  }),
]);
export type Selection = z.output<typeof selection>;

/** A row that cannot be changed as requested. */
export const rowError = z.object({
  /** Index of the row in the preview, from 0. */
  row: count,
  record_id: z.string(),
  /** Empty for a record without a job, an unknown record, and a row that could not be processed. */
  current_state: z.string(),
  code: z.enum(OUTCOME_CODES),
  message: z.string(),
});
export type RowError = z.output<typeof rowError>;

const values = z.record(z.string(), json);
export const sample = z.object({
  record_id: z.string(),
  current_state: z.string(),
  /** For an edit the changed values, for a transition the state, for a deletion all values. */
  before: values,
  /** The same members after the change; null for a deleted record. */
  after: values.nullable(),
});
export type Sample = z.output<typeof sample>;

/** Effects of deletions: records deleted in addition to the rows, and remaining records with cleared references. */
export const cascade = z.object({
  by_entity: z.array(
    z.object({ entity_name: z.string(), action: z.enum(['delete', 'clear']), count: z.int().positive() }),
  ),
  total: count,
});
export type Cascade = z.output<typeof cascade>;

/** A restarted preview has another `attempt`; rows of the earlier attempt are ignored. */
const attempt = { ...base, attempt: z.string() };

export const BulkPreviewStarted = defineEvent(
  'BulkPreviewStarted',
  z.object({ ...attempt, entity_name: z.string(), op_params: opParams, selection, created_by: z.string() }),
);

/** A row as selected; version 0 for a record that does not exist. */
const frozenRow = z.object({ record_id: z.string(), version: count });
export type FrozenRow = z.output<typeof frozenRow>;

/** Freezes at most 1,000 rows; a commit processes only frozen rows. */
export const BulkRowsResolved = defineEvent(
  'BulkRowsResolved',
  z.object({ ...attempt, first: count, rows: z.array(frozenRow) }),
);

export const BulkErrorsPreviewed = defineEvent(
  'BulkErrorsPreviewed',
  z.object({ ...attempt, errors: z.array(rowError) }),
);

const previewCounts = z.object({
  total_resolved: count,
  would_succeed: count,
  would_skip: count,
  would_error: count,
});
export type PreviewCounts = z.output<typeof previewCounts>;

export const BulkPreviewed = defineEvent(
  'BulkPreviewed',
  z.object({
    ...attempt,
    ...previewCounts.shape,
    cascade_summary: cascade.optional(),
    sample_affected: z.array(sample),
  }),
);

export const BulkCancelled = defineEvent('BulkCancelled', z.object(base));

export const BulkCommitStarted = defineEvent(
  'BulkCommitStarted',
  z.object({
    ...base,
    committed_by: z.string(),
    /** For a selection by filter: the number of records that match the filter at commit. */
    count_at_commit: count.optional(),
  }),
);

/** Starts a run over the rows; earlier runs end. */
export const BulkRunStarted = defineEvent('BulkRunStarted', z.object({ ...base, run: z.int().positive() }));

/** Outcomes of some rows, by their index in the preview. */
export const BulkRowsProcessed = defineEvent(
  'BulkRowsProcessed',
  z.object({
    ...base,
    run: z.int().positive(),
    succeeded: z.array(count),
    skipped: z.array(count),
    errors: z.array(rowError),
  }),
);

const totals = z.object({
  succeeded: count,
  skipped: count,
  errored: count,
  cascade_applied: cascade.optional(),
});
export type Totals = z.output<typeof totals>;

export const BulkCommitted = defineEvent(
  'BulkCommitted',
  z.object({ ...base, run: z.int().positive(), ...totals.shape }),
);

/** A store was unavailable for too long; rows processed before stay changed. */
export const BulkCommitErrored = defineEvent(
  'BulkCommitErrored',
  z.object({ ...base, run: z.int().positive(), ...totals.shape, not_processed: count }),
);

export const bulkEvents = [
  BulkPreviewStarted,
  BulkRowsResolved,
  BulkErrorsPreviewed,
  BulkPreviewed,
  BulkCancelled,
  BulkCommitStarted,
  BulkRunStarted,
  BulkRowsProcessed,
  BulkCommitted,
  BulkCommitErrored,
] as const;
export type BulkEvent = EventOf<(typeof bulkEvents)[number]>;
