import {
  recordNotFound,
  refusalOfTransition,
  selectionDrift,
  withoutJob,
} from '../../domain/bulk/outcomes.ts';
import type { OpParams } from '../../domain/bulk/session-events.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { isUuid } from '../../domain/core/text.ts';
import { type LiveRecord, type RecordState, recordStream } from '../../domain/entities/record.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Deletions } from '../entities/deletions.ts';
import type { Records } from '../entities/records.ts';
import { type Schemas, writersOf } from '../entities/schemas.ts';
import type { Ids } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { Jobs } from '../workflow/jobs.ts';
import { inputOf, stateOf } from './dry-run.ts';
import { type Input, RowEdit } from './row-edit.ts';
import { deletionPrefix, isDeletionOf, isSelected, type RowJob, rowCausation, versionOf } from './row-job.ts';
import { error, isLostRace, lostRace, type RowResult, refused, refuseMixUp } from './row-result.ts';

type Head = Pick<StreamState<RecordState>, 'state' | 'position'>;
export type SettledRow = PromiseSettledResult<RowResult>;

const SUCCEEDED: RowResult = { kind: 'succeeded' };
const SKIPPED: RowResult = { kind: 'skipped' };
/** Tries of a row that loses races before it is retried later. */
const RACES = 5;

/**
 * Applies a session's operation to rows, by the decisions of single commands. Repeats have no further effect, since the
 * causation identifies a row's events (decision 15).
 */
export class RowExecutor extends WithDeps<{
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly writers: WriterGate;
  readonly records: Records;
  readonly deletions: Deletions;
  readonly jobs: Jobs;
  readonly ids: Ids;
}> {
  /**
   * Applies rows together; never rejects. A row is rejected with {StoreUnavailable}, `unavailable` or
   * `read_model_behind` when its outcome is unknown and it must be retried.
   * @param mayBeDone an earlier try may have applied some of them
   */
  async apply(job: RowJob, ids: readonly string[], mayBeDone: boolean): Promise<readonly SettledRow[]> {
    const { opParams } = job;
    const known = ids.filter(isUuid);
    const settled =
      opParams.kind === 'edit'
        ? await this.#editAll(job, inputOf(opParams), known)
        : await this.#applyEach(job, opParams, known, mayBeDone);
    let next = 0;
    return ids.map((id): SettledRow => {
      const row = isUuid(id) ? settled[next++] : undefined;
      return row ?? { status: 'fulfilled', value: error(recordNotFound, '') };
    });
  }

  /** Whether the session has applied the row; completes a deletion that it started. @throws as {@link apply} */
  async isDone(job: RowJob, recordId: string): Promise<boolean> {
    if (!isUuid(recordId)) return false;
    const stream = this.deps.streams.of(recordStream, job.tenantId, recordId);
    if (job.opParams.kind === 'delete') {
      const { state, position } = await stream.refresh();
      const result = await this.#gone(job, state, position);
      if (result === 'again') throw lostRace();
      return result.kind === 'succeeded';
    }
    const { events } = await stream.execute(this.#context(job, recordId), () => []);
    return events.length > 0;
  }

  // Edits

  /** Edits all rows in one group commit; rows whose values refer to other records follow as single commands. */
  async #editAll(job: RowJob, values: Input, ids: readonly string[]): Promise<readonly SettledRow[]> {
    const { tenantId, entityName } = job;
    const edits = ids.map((id) => new RowEdit(job, id, values, this.#context(job, id)));
    try {
      const settled = await this.deps.writers.within(writersOf(tenantId, entityName), () =>
        this.deps.streams.executeAll(recordStream, tenantId, edits, {
          uncached: true,
          prepare: () => this.deps.schemas.fresh(tenantId, entityName),
        }),
      );
      return await Promise.allSettled(
        edits.map(async (edit, at): Promise<RowResult> => {
          const outcome = settled[at];
          if (outcome?.status !== 'fulfilled') return refused(outcome?.reason, edit.seen);
          const { events, position } = outcome.value;
          if (events.length > 0) return { kind: 'succeeded', position };
          return edit.linking === undefined
            ? (edit.refusal ?? SKIPPED)
            : this.#editLinked(job, edit.linking, values);
        }),
      );
    } catch (reason) {
      return ids.map(() => ({ status: 'rejected', reason }));
    }
  }

  /** Edits one row, which registers its references first (decision 11). */
  async #editLinked(job: RowJob, state: LiveRecord, values: Input): Promise<RowResult> {
    const { tenantId, entityName } = job;
    const command = { values, ifVersion: versionOf(job, state) };
    const context = this.#context(job, state.id);
    try {
      const edited = await this.deps.records.update(tenantId, entityName, state.id, command, context);
      return edited.changed ? { kind: 'succeeded', position: edited.position } : SKIPPED;
    } catch (thrown) {
      return refused(thrown, state);
    }
  }

  // Deletions and transitions

  async #applyEach(
    job: RowJob,
    params: Exclude<OpParams, { kind: 'edit' }>,
    ids: readonly string[],
    mayBeDone: boolean,
  ): Promise<readonly SettledRow[]> {
    const { tenantId } = job;
    const streams = ids.map((id) => this.deps.streams.of(recordStream, tenantId, id));
    const cold = ids.filter((_, at) => streams[at]?.cached() === undefined);
    // Loads states into the cache, where the commands find them. A state that cannot be read fails its own command.
    const loaded = await this.deps.streams
      .loadAll(recordStream, tenantId, cold, { uncached: false })
      .catch(() => []);
    const heads = new Map(cold.map((id, at) => [id, loaded[at]]));
    const settled = await Promise.allSettled(
      ids.map((id) => this.#applyOne(job, params, id, heads.get(id), mayBeDone)),
    );
    for (const id of cold) this.deps.streams.of(recordStream, tenantId, id).evict();
    return settled;
  }

  async #applyOne(
    job: RowJob,
    params: Exclude<OpParams, { kind: 'edit' }>,
    recordId: string,
    loaded: Head | undefined,
    mayBeDone: boolean,
  ): Promise<RowResult> {
    const stream = this.deps.streams.of(recordStream, job.tenantId, recordId);
    for (let tries = 0; tries < RACES; tries += 1) {
      const head: Head = tries === 0 && loaded !== undefined ? loaded : await stream.refresh();
      refuseMixUp(head.state, recordId);
      const result = await this.#decide(job, params, head);
      if (result === 'again') continue;
      if (result.kind === 'succeeded' || !mayBeDone) return result;
      // A row applied earlier must not be reported as unchanged.
      return (await this.isDone(job, recordId)) ? SUCCEEDED : result;
    }
    throw lostRace();
  }

  async #decide(
    job: RowJob,
    params: Exclude<OpParams, { kind: 'edit' }>,
    { state, position }: Head,
  ): Promise<RowResult | 'again'> {
    if (state.status !== 'live' || state.entityName !== job.entityName) {
      return params.kind === 'delete' ? this.#gone(job, state, position) : error(recordNotFound, '');
    }
    if (!isSelected(job, state)) return error(selectionDrift, stateOf(state));
    return params.kind === 'delete'
      ? this.#delete(job, state)
      : this.#transition(job, state, params.event_name);
  }

  async #transition(job: RowJob, state: LiveRecord, eventName: string): Promise<RowResult | 'again'> {
    if (state.job === undefined) return error(withoutJob, '');
    const actor = { id: job.committedBy, role: 'admin' } as const;
    const context = this.#context(job, state.id);
    const command = { eventName, ifVersion: versionOf(job, state) };
    const result = await this.deps.jobs.tryTransition(
      job.tenantId,
      state.id,
      command,
      actor,
      context,
      'decide_again',
    );
    switch (result.outcome) {
      case 'moved':
        return { kind: 'succeeded', position: result.position };
      case 'not_found':
        return 'again';
      case 'refused': {
        const refusal = refusalOfTransition(result.refusal);
        return refusal === undefined ? 'again' : error(refusal, stateOf(state));
      }
      default:
        return result satisfies never;
    }
  }

  async #delete(job: RowJob, state: LiveRecord): Promise<RowResult | 'again'> {
    const { tenantId, entityName, sessionId } = job;
    const newId = () => `${deletionPrefix(sessionId)}${this.deps.ids.next()}`;
    const context = { ...this.#context(job, state.id), priorAttempt: undefined, newId };
    const command = { ifVersion: versionOf(job, state), untilSwept: true };
    try {
      const position = await this.deps.deletions.delete(tenantId, entityName, state.id, command, context);
      return { kind: 'succeeded', position };
    } catch (thrown) {
      if (isLostRace(thrown)) return 'again';
      const result = refused(thrown, state);
      const referrerId = referrerIn(thrown);
      if (result.kind !== 'error' || referrerId === undefined) return result;
      return { ...result, kind: 'restricted', referrerId };
    }
  }

  /** The result for a deleted record: this session may have deleted it, by itself or by a cascade. */
  async #gone(job: RowJob, state: RecordState, position: Position | undefined): Promise<RowResult | 'again'> {
    const { tenantId, sessionId } = job;
    if (state.status !== 'deleting' && state.status !== 'deleted') return error(recordNotFound, '');
    const { id: deletionId, cascadeOf } = state.deletion;
    if (!isDeletionOf(sessionId, deletionId)) return error(recordNotFound, '');
    const attempt = { deletionId, rootId: cascadeOf ?? state.id };
    const { cause } = this.#context(job, state.id);
    if (state.status === 'deleting') {
      if (cascadeOf === undefined) await this.deps.deletions.resume(tenantId, attempt, cause);
      else await this.deps.deletions.follow(tenantId, state.id, attempt, cause);
      return 'again';
    }
    // An earlier run may have stopped before the cascade was complete.
    if (cascadeOf === undefined) await this.deps.deletions.sweep(tenantId, attempt, cause, position);
    return SUCCEEDED;
  }

  #context({ cause, sessionId, since }: RowJob, recordId: string): RequestContext {
    return {
      cause: { ...cause, causationId: rowCausation(sessionId, recordId) },
      priorAttempt: { after: since },
      newId: () => this.deps.ids.next(),
    };
  }
}

const referrerIn = (thrown: unknown): string | undefined => {
  if (!(thrown instanceof DomainError) || thrown.code !== 'in_use') return undefined;
  const id = thrown.details?.record_id;
  return typeof id === 'string' ? id : undefined;
};
