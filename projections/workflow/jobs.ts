import { collection } from '../../domain/core/collection.ts';
import {
  type DocumentReader,
  iso,
  type Page,
  type PageRequest,
  type ProjectedEvent,
  projection,
} from '../../domain/core/projection.ts';
import type { JobStart, RecordEvent } from '../../domain/entities/record.ts';

/** The jobs of a tenant and their histories (decisions, section 6, Job). */

export interface JobDoc extends JobStart {
  readonly id: string;
  readonly entity_name: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  /** One value for each filter that matches the job; empty while the job's record is being deleted. */
  readonly facets: readonly string[];
}

export interface JobMoveDoc {
  readonly job_id: string;
  /** Revision in the record's stream: the order of the history. */
  readonly seq: number;
  readonly at: string;
  readonly from_state: string;
  readonly to_state: string;
  readonly event_name: string;
  readonly actor: { readonly kind: string; readonly id: string };
  readonly override?: true;
  readonly reason?: string;
}

interface JobFilter {
  readonly entity_name?: string | undefined;
  readonly state?: string | undefined;
  readonly workflow?: string | undefined;
}

/** `event_name` of an override, which uses no transition. */
const OVERRIDE_EVENT = 'admin_override';

const facet = ({ entity_name, state, workflow }: JobFilter): string =>
  JSON.stringify([entity_name ?? null, state ?? null, workflow ?? null]);

const facetsOf = ({ entity_name, state, workflow }: Required<JobFilter>): readonly string[] =>
  [undefined, entity_name].flatMap((e) =>
    [undefined, state].flatMap((s) =>
      [undefined, workflow].map((w) => facet({ entity_name: e, state: s, workflow: w })),
    ),
  );

const withFacets = (job: Omit<JobDoc, 'facets'>): JobDoc => ({ ...job, facets: facetsOf(job) });

const jobs = collection<JobDoc>('jobs');
const jobMoves = collection<JobMoveDoc>('job_moves');

const started = (data: { record_id: string; entity_name: string }, at: number, start: JobStart) => [
  jobs.put(
    data.record_id,
    withFacets({
      id: data.record_id,
      entity_name: data.entity_name,
      workflow: start.workflow,
      workflow_version: start.workflow_version,
      state: start.state,
      version: 1,
      created_at: iso(at),
      updated_at: iso(at),
    }),
  ),
];

type Move = Pick<JobMoveDoc, 'from_state' | 'to_state' | 'event_name' | 'override' | 'reason'>;

const moved = ({ data, at, revision, actor }: ProjectedEvent<Moving>, move: Move) => [
  jobs.change(data.record_id, (job) =>
    withFacets({ ...job, state: move.to_state, version: job.version + 1, updated_at: iso(at) }),
  ),
  jobMoves.put(`${data.record_id}.${revision}`, {
    job_id: data.record_id,
    seq: revision,
    at: iso(at),
    ...move,
    actor: { kind: actor.kind, id: actor.id },
  }),
];

type Moving = Extract<RecordEvent, { type: 'JobTransitioned' | 'JobOverridden' }>;

export const jobsProjection = projection<RecordEvent>({
  name: 'jobs',
  version: 1,
  collections: [
    { name: 'jobs', indexes: [{ name: 'by_facet', fields: ['facets', 'created_at'], multi: 'facets' }] },
    { name: 'job_moves', indexes: [{ name: 'by_job', fields: ['job_id', 'seq'] }] },
  ],
  on: {
    RecordCreated: ({ data, at }) => (data.job === undefined ? [] : started(data, at, data.job)),
    JobStarted: ({ data, at }) => started(data, at, data),
    JobTransitioned: (event) => {
      const { from_state, to_state, event_name } = event.data;
      return moved(event, { from_state, to_state, event_name });
    },
    JobOverridden: (event) => {
      const { from_state, to_state, reason } = event.data;
      return moved(event, { from_state, to_state, event_name: OVERRIDE_EVENT, override: true, reason });
    },
    RecordDeletionStarted: ({ data }) => [jobs.merge(data.record_id, { facets: [] })],
    RecordDeletionAbandoned: ({ data }) => [jobs.change(data.record_id, withFacets)],
    RecordDeleted: ({ data }) => [jobs.remove(data.record_id)],
  },
});

// Queries

const byFacet = jobs.listOf('by_facet', 'desc');

/** Jobs that match the filter, newest first. */
export const jobsOf = (
  reader: DocumentReader,
  tenantId: string,
  filter: JobFilter,
  page: PageRequest,
): Promise<Page<JobDoc>> => byFacet(reader, tenantId, facet(filter), page);

/** Undefined while the job's record is being deleted. */
export const jobById = async (
  reader: DocumentReader,
  tenantId: string,
  jobId: string,
): Promise<JobDoc | undefined> => {
  const job = await jobs.get(reader, tenantId, jobId);
  return job === undefined || job.facets.length === 0 ? undefined : job;
};

const latestMoves = jobMoves.listOf('by_job', 'desc');

/** The latest transitions and overrides of a job, oldest first. */
export const movesOf = async (
  reader: DocumentReader,
  tenantId: string,
  jobId: string,
  limit: number,
): Promise<readonly JobMoveDoc[]> => {
  const { docs } = await latestMoves(reader, tenantId, jobId, { limit, after: undefined });
  return docs.toReversed();
};
