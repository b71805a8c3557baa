import { z } from 'zod';
import { OUTCOME_CODES } from '../../../domain/bulk/outcomes.ts';
import { processedOf, type SessionState } from '../../../domain/bulk/session.ts';
import { cascade, opParams, type RowError, sample } from '../../../domain/bulk/session-events.ts';
import { iso } from '../../../domain/core/projection.ts';
import { type Field, inOrder } from '../../../domain/entities/fields.ts';
import type { BulkPreviewDoc } from '../../../projections/bulk/bulk.ts';
import { timestamp } from '../../http/schemas.ts';

/** Answers about sessions (specification, Bulk operation session; decisions, section 5). */

const count = z.int().nonnegative();

const errorView = z.object({
  record_id: z.string(),
  current_state: z.string().meta({ description: 'Empty if the record has no job or does not exist.' }),
  code: z.enum(OUTCOME_CODES),
  message: z.string(),
});

const previewView = z
  .object({
    total_resolved: count,
    would_succeed: count,
    would_skip: count,
    would_error: count,
    cascade_summary: cascade.optional(),
    errors: z.array(errorView).meta({ description: 'The first 1,000.' }),
    sample_affected: z.array(sample).meta({
      description:
        'The first 20, fewer if they are large. For an edit the changed values, for a deletion all values, for other operations the state.',
    }),
  })
  .meta({ id: 'BulkOpPreview' });

export const sessionView = z
  .object({
    id: z.string(),
    entity_name: z.string(),
    operation: z.enum(['edit', 'delete', 'transition']),
    selection: z.discriminatedUnion('kind', [
      z.object({
        kind: z.literal('ids'),
        ids: z.array(z.string()).meta({ description: 'The first 1,000, without duplicates.' }),
      }),
      z.object({
        kind: z.literal('filter'),
        filter_expr: z.union([z.string(), z.record(z.string(), z.unknown())]),
        count_at_preview: count.optional(),
      }),
    ]),
    op_params: opParams,
    status: z.enum(['previewed', 'committing', 'committed', 'errored', 'cancelled']),
    preview: previewView,
    result: z
      .object({
        succeeded: count,
        skipped: count,
        errored: count,
        cascade_applied: cascade.optional(),
        committed_at: timestamp,
        not_processed: count
          .optional()
          .meta({ description: 'Rows that were not processed; for an errored session only.' }),
      })
      .optional(),
    progress: z
      .object({ processed: count, total: count })
      .optional()
      .meta({ description: 'Only while a session is committing.' }),
    count_at_preview: count.optional().meta({ description: 'For a selection by filter only.' }),
    count_at_commit: count.optional().meta({ description: 'For a selection by filter only.' }),
    created_by: z.string(),
    created_at: timestamp,
    committed_by: z.string().optional(),
    cancelled_at: timestamp.optional(),
  })
  .meta({ id: 'BulkOpSession' });
type SessionView = z.output<typeof sessionView>;

const errorOf = ({ record_id, current_state, code, message }: RowError): z.output<typeof errorView> => ({
  record_id,
  current_state,
  code,
  message,
});

const selectionOf = ({ selection }: SessionState, ids: readonly string[]): SessionView['selection'] => {
  if (selection.kind === 'ids') return { kind: 'ids', ids: [...ids] };
  const { filter_expr, count_at_preview } = selection;
  // A preview accepts only a text or an object.
  return { kind: 'filter', filter_expr: filter_expr as string | Record<string, unknown>, count_at_preview };
};

const countsOf = ({ selection, counts: { total_resolved: total }, countAtCommit }: SessionState) =>
  selection.kind === 'ids'
    ? {}
    : { count_at_preview: selection.count_at_preview ?? total, count_at_commit: countAtCommit };

const resultOf = ({ endedAt, ...totals }: NonNullable<SessionState['result']>) => ({
  ...totals,
  committed_at: iso(endedAt),
});

/** @param fields the entity's fields, in order @param most maximum of shown ids, and of shown errors */
export const viewOf = (
  session: SessionState,
  { ids, errors, sample_affected }: Omit<BulkPreviewDoc, 'id' | 'attempt'>,
  fields: readonly Field[],
  most = Infinity,
): SessionView => ({
  id: session.id,
  entity_name: session.entityName,
  operation: session.opParams.kind,
  selection: selectionOf(session, ids.slice(0, most)),
  op_params: session.opParams,
  status: session.status,
  preview: {
    ...session.counts,
    cascade_summary: session.cascadeSummary,
    errors: errors.slice(0, most).map(errorOf),
    sample_affected: sample_affected.map(({ before, after, ...row }) => ({
      ...row,
      before: { ...inOrder(fields, before) },
      after: after === null ? null : { ...inOrder(fields, after) },
    })),
  },
  result: session.result && resultOf(session.result),
  progress:
    session.status === 'committing'
      ? { processed: processedOf(session.done), total: session.counts.total_resolved }
      : undefined,
  ...countsOf(session),
  created_by: session.createdBy,
  created_at: iso(session.createdAt),
  committed_by: session.committedBy,
  cancelled_at: session.cancelledAt === undefined ? undefined : iso(session.cancelledAt),
});
