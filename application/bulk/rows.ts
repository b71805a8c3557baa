import {
  type RowRefusal,
  recordNotFound,
  refusalOfError,
  refusalOfTransition,
  selectionDrift,
  tooLarge,
  withoutJob,
} from '../../domain/bulk/outcomes.ts';
import type { OpParams } from '../../domain/bulk/session-events.ts';
import { type LiveRecord, type RecordState, recordDecider } from '../../domain/entities/record.ts';
import { DomainError } from '../../domain/errors.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { Deletions } from '../deletions.ts';
import type { Jobs } from '../jobs.ts';
import type { Ids } from '../ports/clock.ts';
import { EventTooLarge, type Position } from '../ports/event-store.ts';
import type { Records } from '../records.ts';
import type { RequestContext } from '../request-context.ts';
import type { StreamState, StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';
import type { JointEdits } from './joint-edits.ts';
import { inputOf, stateOf } from './judgement.ts';
import type { Pace } from './pace.ts';
import {
  deletionPrefix,
  isDeletionOf,
  isRecordId,
  type RowJob,
  type RowResult,
  rowCausation,
} from './row-job.ts';
import { isSelected } from './selected.ts';

type Head = Pick<StreamState<RecordState>, 'state' | 'position'>;

const SUCCEEDED: RowResult = { kind: 'succeeded' };
const SKIPPED: RowResult = { kind: 'skipped' };

/** A lost race is tried again so often before the row has to wait for a while. */
const TRIES = 20;
const error = (refusal: RowRefusal, currentState: string): RowResult => ({
  kind: 'error',
  currentState,
  refusal,
});

/** Does to one row what its session asks, by the same commands as single edits, and once however often it is tried. */
export class Rows {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #records: Records;
  readonly #deletions: Deletions;
  readonly #jobs: Jobs;
  readonly #ids: Ids;
  readonly #joint: JointEdits;
  readonly #pause: (ms: number) => Promise<void>;
  /** The values that an edit sets are the same for all rows of its session. */
  readonly #inputs = new WeakMap<OpParams, Readonly<Record<string, unknown>>>();

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    records: Records;
    deletions: Deletions;
    jobs: Jobs;
    ids: Ids;
    joint: JointEdits;
    pause?: (ms: number) => Promise<void>;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#records = deps.records;
    this.#deletions = deps.deletions;
    this.#jobs = deps.jobs;
    this.#ids = deps.ids;
    this.#joint = deps.joint;
    this.#pause = deps.pause ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
  }

  /**
   * Does many rows in one go, as far as that can be done.
   * @returns those that are done; each of the others is to be applied by itself. @throws as {@link apply}
   */
  applyTogether(job: RowJob, recordIds: readonly string[], pace: Pace): Promise<ReadonlySet<string>> {
    return this.#joint.apply(job, recordIds, pace);
  }

  /**
   * Reads records into memory that are about to be changed, all in one go.
   * @returns those that were not there before: they are to be let go of, so that other states stay
   */
  async gather(tenantId: string, recordIds: readonly string[]): Promise<ReadonlySet<string>> {
    const missing = recordIds.filter(
      (id) => isRecordId(id) && this.#states.cached(streamOf(tenantId, id)) === undefined,
    );
    await this.#states.loadMany(tenantId, recordDecider, missing, { passing: false });
    return new Set(missing);
  }

  letGo(tenantId: string, recordId: string): void {
    this.#states.drop(streamOf(tenantId, recordId));
  }

  /**
   * @param mayBeDone somebody tried it before, and it is not known what came of that
   * @throws {StoreUnavailable}, `unavailable`, `read_model_behind`: it may be done or not, and is to be tried again
   */
  async apply(job: RowJob, recordId: string, mayBeDone: boolean): Promise<RowResult> {
    const result = await this.#attempt(job, recordId);
    if (result.kind === 'succeeded' || !mayBeDone) return result;
    // What a row looks like once it is done must not be taken for a reason to leave it alone.
    return (await this.isDone(job, recordId)) ? SUCCEEDED : result;
  }

  /** Whether the session has done the row before. @throws as {@link apply} */
  async isDone(job: RowJob, recordId: string): Promise<boolean> {
    if (!isRecordId(recordId)) return false;
    if (job.opParams.kind === 'delete') {
      const { state } = await this.#fresh(job.tenantId, recordId);
      return state.status === 'deleted' && isDeletionOf(job.sessionId, state.deletion.id);
    }
    const { events } = await this.#commands.execute({
      tenantId: job.tenantId,
      decider: recordDecider,
      id: recordId,
      ...this.#context(job, recordId),
      decide: () => [],
    });
    return events.length > 0;
  }

  async #attempt(job: RowJob, recordId: string): Promise<RowResult> {
    if (!isRecordId(recordId)) return error(recordNotFound, '');
    let head: Head = await this.#states.load(job.tenantId, recordDecider, recordId);
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (tries > 1) await this.#pause(Math.min(5 * 2 ** tries, 500) * (0.5 + Math.random()));
      if (tries > 0) head = await this.#fresh(job.tenantId, recordId);
      // Somebody has changed the file by hand: nothing is done to the other record.
      if ('id' in head.state && head.state.id !== recordId)
        throw new Error('a record bears the id of another');
      const result = await this.#decide(job, head);
      // That a row is left alone is not said from a state that another node may have left behind.
      if (result !== 'again' && (tries > 0 || result.kind !== 'error')) return result;
    }
    throw new DomainError('unavailable', 'The record is too busy at the moment.');
  }

  async #decide(job: RowJob, { state, position }: Head): Promise<RowResult | 'again'> {
    if (state.status !== 'live' || state.entityName !== job.entityName) {
      return job.opParams.kind === 'delete' ? this.#gone(job, state, position) : error(recordNotFound, '');
    }
    const { selectedBy } = job;
    if (!isSelected(job, state)) return error(selectionDrift, stateOf(state));
    // Where the filter was asked, the answer must hold for the very version that is changed.
    const ifVersion = selectedBy === undefined ? undefined : state.version;
    switch (job.opParams.kind) {
      case 'edit':
        return this.#edit(job, state, this.#inputOf(job.opParams), ifVersion);
      case 'delete':
        return this.#delete(job, state, ifVersion);
      case 'transition':
        return this.#transition(job, state, job.opParams.event_name, ifVersion);
      default:
        return job.opParams satisfies never;
    }
  }

  #inputOf(params: Extract<OpParams, { kind: 'edit' }>): Readonly<Record<string, unknown>> {
    let values = this.#inputs.get(params);
    if (values !== undefined) return values;
    values = inputOf(params);
    this.#inputs.set(params, values);
    return values;
  }

  async #edit(
    job: RowJob,
    state: LiveRecord,
    values: Readonly<Record<string, unknown>>,
    ifVersion: number | undefined,
  ): Promise<RowResult | 'again'> {
    const { tenantId, entityName } = job;
    try {
      const context = this.#context(job, state.id);
      const { changed } = await this.#records.update(
        tenantId,
        entityName,
        state.id,
        { values, ifVersion },
        context,
      );
      return changed ? SUCCEEDED : SKIPPED;
    } catch (thrown) {
      return refused(thrown, state);
    }
  }

  async #transition(
    job: RowJob,
    state: LiveRecord,
    eventName: string,
    ifVersion: number | undefined,
  ): Promise<RowResult | 'again'> {
    if (state.job === undefined) return error(withoutJob, '');
    const actor = { id: job.committedBy, role: 'admin' } as const;
    const context = this.#context(job, state.id);
    const command = { eventName, ifVersion };
    const result = await this.#jobs.tryTransition(
      job.tenantId,
      state.id,
      command,
      actor,
      context,
      'decide_again',
    );
    if (result.outcome === 'moved') return SUCCEEDED;
    if (result.outcome === 'not_found') return 'again';
    const refusal = refusalOfTransition(result.refusal);
    return refusal === undefined ? 'again' : error(refusal, stateOf(state));
  }

  async #delete(job: RowJob, state: LiveRecord, ifVersion: number | undefined): Promise<RowResult | 'again'> {
    const { tenantId, entityName, sessionId } = job;
    const newId = () => `${deletionPrefix(sessionId)}${this.#ids.next()}`;
    try {
      const context = { ...this.#context(job, state.id), again: undefined, newId };
      await this.#deletions.delete(tenantId, entityName, state.id, { ifVersion, untilSwept: true }, context);
      return SUCCEEDED;
    } catch (thrown) {
      const result = refused(thrown, state);
      const referrerId = referrerIn(thrown);
      if (result === 'again' || result.kind !== 'error' || referrerId === undefined) return result;
      return { ...result, kind: 'restricted', referrerId };
    }
  }

  /** A record that is not there to be deleted: this session may have deleted it, by itself or along with another. */
  async #gone(job: RowJob, state: RecordState, position: Position | undefined): Promise<RowResult | 'again'> {
    const { tenantId, sessionId } = job;
    if (state.status !== 'deleting' && state.status !== 'deleted') return error(recordNotFound, '');
    const { id: deletionId, cascadeOf } = state.deletion;
    if (!isDeletionOf(sessionId, deletionId)) return error(recordNotFound, '');
    const attempt = { deletionId, rootId: cascadeOf ?? state.id };
    const { cause } = this.#context(job, state.id);
    if (state.status === 'deleting') {
      if (cascadeOf === undefined) await this.#deletions.resume(tenantId, attempt, cause);
      return 'again';
    }
    // It was cut off before all that goes with the record was done.
    if (cascadeOf === undefined) await this.#deletions.sweep(tenantId, state.id, attempt, cause, position);
    return SUCCEEDED;
  }

  #context({ cause, sessionId, since }: RowJob, recordId: string): RequestContext {
    return {
      cause: { ...cause, causationId: rowCausation(sessionId, recordId) },
      again: { after: since },
      newId: () => this.#ids.next(),
    };
  }

  async #fresh(tenantId: string, recordId: string): Promise<Head> {
    // The stream's name says which decider folded it.
    return (await this.#states.refresh(streamOf(tenantId, recordId), recordDecider)) as Head;
  }
}

const streamOf = (tenantId: string, recordId: string): string =>
  streamName(tenantId, recordDecider.category, recordId);

/** @throws what is no outcome of a row */
const refused = (thrown: unknown, state: LiveRecord): RowResult | 'again' => {
  if (thrown instanceof EventTooLarge) return error(tooLarge, stateOf(state));
  if (thrown instanceof DomainError && (thrown.code === 'conflict' || thrown.code === 'not_found'))
    return 'again';
  const refusal = refusalOfError(thrown);
  if (refusal === undefined) throw thrown;
  return error(refusal, stateOf(state));
};

const referrerIn = (thrown: unknown): string | undefined => {
  if (!(thrown instanceof DomainError) || thrown.code !== 'in_use') return undefined;
  const id = thrown.details?.record_id;
  return typeof id === 'string' ? id : undefined;
};
