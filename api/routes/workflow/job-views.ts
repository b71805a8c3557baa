import { z } from 'zod';
import type { JobNow } from '../../../application/workflow/jobs.ts';
import { iso } from '../../../domain/core/projection.ts';
import type { JobDoc, JobMoveDoc } from '../../../projections/workflow/jobs.ts';
import { timestamp } from '../../http/schemas.ts';

/** Answers about jobs (decisions, section 6, Job). */

export const jobView = z
  .object({
    id: z.string(),
    entity_name: z.string(),
    entity_id: z.string(),
    workflow: z.string(),
    workflow_version: z.int(),
    state: z.string(),
    final: z.boolean(),
    version: z.int().meta({ description: 'Counts the states that the job was in.' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Job' });
export type JobView = z.output<typeof jobView>;

const jobMove = z.object({
  at: timestamp,
  from_state: z.string(),
  to_state: z.string(),
  event_name: z.string(),
  actor: z.object({ kind: z.string(), id: z.string() }),
  override: z.boolean().optional(),
  reason: z.string().optional(),
});

export const jobDetailView = jobView
  .extend({
    history: z.array(jobMove).meta({ description: 'Oldest first; the last 1,000.' }),
    allowed_events: z.array(z.string()).meta({
      description:
        'Events that lead on for the caller: the role is admitted, the guard holds without a payload.',
    }),
  })
  .meta({ id: 'JobDetail' });

export const viewOfDoc = (doc: JobDoc, final: boolean): JobView => ({
  id: doc.id,
  entity_name: doc.entity_name,
  entity_id: doc.id,
  workflow: doc.workflow,
  workflow_version: doc.workflow_version,
  state: doc.state,
  final,
  version: doc.version,
  created_at: doc.created_at,
  updated_at: doc.updated_at,
});

export const viewOfJob = ({ record, workflow }: JobNow): JobView => ({
  id: record.id,
  entity_name: record.entityName,
  entity_id: record.id,
  workflow: record.job.workflow,
  workflow_version: record.job.workflow_version,
  state: record.job.state,
  final: workflow.machine.isFinal(record.job.state),
  version: record.job.version,
  created_at: iso(record.job.startedAt),
  updated_at: iso(record.job.movedAt),
});

export const viewOfMove = ({ job_id: _job, seq: _seq, ...move }: JobMoveDoc): z.output<typeof jobMove> =>
  move;
