import { notFound } from '../../domain/core/errors.ts';
import { type RecordState, recordStream } from '../../domain/entities/record.ts';
import { schemaStream } from '../../domain/entities/schema.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import {
  allowedEvents,
  checkTransition,
  type OverrideCommand,
  overrideJob,
  type RecordWithJob,
  type Refusal,
  refusalError,
  type Surroundings,
  type TransitionCommand,
  transitioned,
  type Verdict,
  withJob,
} from '../../domain/workflow/job.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import { type PublishedWorkflow, specsOf } from './workflow-uses.ts';
import type { Workflows } from './workflows.ts';

/** The user, extension or API token that moves a job, for guards and roles. */
export type JobActor = Surroundings['actor'];

/** A job, and its version of the workflow. */
export interface JobNow {
  readonly record: RecordWithJob;
  readonly workflow: PublishedWorkflow;
}

type Moved = Written<JobNow>;

type TransitionOutcome =
  | ({ readonly outcome: 'moved' } & Moved)
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | { readonly outcome: 'not_found' };

interface KnownJob extends JobNow {
  readonly fields: FieldSpecs;
}

const surroundings = ({ workflow, fields }: KnownJob, actor: JobActor, now: number): Surroundings => ({
  machine: workflow.machine,
  fields,
  actor,
  now,
});

/** Use cases on jobs (decisions, section 6, Job). A job is part of its record's stream and has the record's id. */
export class Jobs extends WithDeps<{ streams: Streams; workflows: Workflows; clock: Clock }> {
  /** @throws `not_found`, `forbidden`, `conflict`, `invalid_transition`, `constraint_violated`, `guard_rejected` */
  async transition(
    tenantId: string,
    jobId: string,
    command: Omit<TransitionCommand, 'seenVersion'>,
    actor: JobActor,
    context: RequestContext,
  ): Promise<Moved> {
    const seenVersion = await this.#versionNow(tenantId, jobId);
    const result = await this.tryTransition(tenantId, jobId, { ...command, seenVersion }, actor, context);
    if (result.outcome === 'refused') throw refusalError(result.refusal);
    if (result.outcome === 'not_found') throw notFound();
    return result;
  }

  /**
   * Like {@link transition}, but returns refusals as values, for bulk rows.
   * @param command.ifVersion expected version of the record; any other version counts as a lost race
   */
  async tryTransition(
    tenantId: string,
    jobId: string,
    command: TransitionCommand & { readonly ifVersion?: number | undefined },
    actor: JobActor,
    context: RequestContext,
  ): Promise<TransitionOutcome> {
    let refusal: Refusal | 'not_found' | undefined;
    const outcome = await this.deps.streams.of(recordStream, tenantId, jobId).execute(context, {
      prepare: async ({ state }) => {
        const verdict = await this.check(tenantId, state, command, actor);
        // A guard must not reject because of cached fields that another node may have changed.
        if (verdict.kind === 'guard_rejected' && state.status === 'live') {
          await this.deps.streams.of(schemaStream, tenantId, state.entityName).refresh();
        }
        return this.#known(tenantId, state);
      },
      decide: (_state, { now }, found) => {
        refusal = undefined;
        if (found === undefined) {
          refusal = 'not_found';
          return [];
        }
        const { record } = found;
        const isOther = command.ifVersion !== undefined && command.ifVersion !== record.version;
        const verdict: Verdict = isOther
          ? { kind: 'lost_race', state: record.job.state }
          : checkTransition(record, command, surroundings(found, actor, now));
        if (verdict.kind === 'moves') return transitioned(record, command, verdict.edge, actor.role);
        refusal = verdict;
        return [];
      },
    });
    if (refusal === 'not_found') return { outcome: 'not_found' };
    if (refusal !== undefined) return { outcome: 'refused', refusal };
    const now = await this.#jobIn(tenantId, outcome.state);
    if (now === undefined) return { outcome: 'not_found' };
    return { outcome: 'moved', ...now, position: outcome.position };
  }

  /** @throws `not_found`, `conflict`, `invalid_transition` */
  async override(
    tenantId: string,
    jobId: string,
    command: Omit<OverrideCommand, 'seenVersion'>,
    context: RequestContext,
  ): Promise<Moved> {
    const seenVersion = await this.#versionNow(tenantId, jobId);
    const outcome = await this.deps.streams.of(recordStream, tenantId, jobId).execute(context, {
      prepare: async ({ state }) => this.#jobIn(tenantId, state),
      decide: (state, _at, found) => {
        if (found === undefined) throw notFound();
        return overrideJob(state, { ...command, seenVersion }, found.workflow.machine);
      },
    });
    const now = await this.#jobIn(tenantId, outcome.state);
    if (now === undefined) throw notFound();
    return { ...now, position: outcome.position };
  }

  /**
   * The events that the actor can trigger.
   * @param state the state of the job as shown to the caller
   * @throws `not_found`
   */
  async allowed(tenantId: string, jobId: string, state: string, actor: JobActor): Promise<readonly string[]> {
    const found = await this.#known(tenantId, await this.find(tenantId, jobId));
    if (found === undefined) throw notFound();
    const shown = { ...found.record, job: { ...found.record.job, state } };
    return allowedEvents(shown, surroundings(found, actor, this.deps.clock.now()));
  }

  /** Checks a transition by cached fields; writes nothing. */
  async check(
    tenantId: string,
    state: RecordState,
    command: Omit<TransitionCommand, 'seenVersion'>,
    actor: JobActor,
  ): Promise<Verdict | { readonly kind: 'not_found' }> {
    const found = await this.#known(tenantId, state);
    if (found === undefined) return { kind: 'not_found' };
    return checkTransition(found.record, command, surroundings(found, actor, this.deps.clock.now()));
  }

  /** @throws `not_found` */
  async find(tenantId: string, jobId: string): Promise<RecordWithJob> {
    const stream = this.deps.streams.of(recordStream, tenantId, jobId);
    return withJob(await stream.loadWhere((state) => state.status === 'live' && state.job !== undefined));
  }

  /**
   * The job's version when the request arrives: the caller cannot know later changes. Read from the store, since an old
   * cached version would cause false conflicts.
   */
  async #versionNow(tenantId: string, jobId: string): Promise<number | undefined> {
    const { state } = await this.deps.streams.of(recordStream, tenantId, jobId).refresh();
    return state.status === 'live' ? state.job?.version : undefined;
  }

  async #known(tenantId: string, state: RecordState): Promise<KnownJob | undefined> {
    const job = await this.#jobIn(tenantId, state);
    if (job === undefined) return undefined;
    const schema = await this.deps.streams.of(schemaStream, tenantId, job.record.entityName).load();
    return { ...job, fields: schema.state.exists ? specsOf(schema.state.fields) : {} };
  }

  /** Undefined for a record that is deleted, being deleted, or without a job. */
  async #jobIn(tenantId: string, state: RecordState): Promise<JobNow | undefined> {
    if (state.status !== 'live' || state.job === undefined) return undefined;
    const { workflow: name, workflow_version: version } = state.job;
    const workflow = await this.deps.workflows.published(tenantId, name, version);
    if (workflow === undefined) throw new Error(`a job runs version ${version} of ${name}, which is none`);
    return { record: { ...state, job: state.job }, workflow };
  }
}
