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
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Position } from '../ports/event-store.ts';
import { deletionPrefix, isDeletionOf } from './cascades.ts';
import {
  errored,
  expectedVersion,
  isLostRace,
  isSelected,
  lostRace,
  RowOperation,
  type RowResult,
  refused,
  refuseMixUp,
  type SettledRow,
  stateOf,
} from './row.ts';

type Loaded = Pick<StreamState<RecordState>, 'state' | 'position'>;
type Params = Exclude<OpParams, { kind: 'edit' }>;

const SUCCEEDED: RowResult = { kind: 'succeeded' };
/** A row that loses races is tried this often without a pause; then the retry policy applies. */
const RACES = 5;

/** Deletes or transitions rows, each by a separate command, since the commands wait for read models and guards. */
export class RowCommands extends RowOperation<Params> {
  /** First completes a deletion that the session has started. */
  override async wasApplied(recordId: string): Promise<boolean> {
    if (this.deps.params.kind !== 'delete' || !isUuid(recordId)) return super.wasApplied(recordId);
    const { state, position } = await this.#stream(recordId).refresh();
    const result = await this.#gone(state, position);
    if (result === 'again') throw lostRace();
    return result.kind === 'succeeded';
  }

  protected override async applyKnown(
    ids: readonly string[],
    mayBeDone: boolean,
  ): Promise<readonly SettledRow[]> {
    const cold = ids.filter((id) => this.#stream(id).cached() === undefined);
    // Loads states into the cache, where the commands find them. Ignores errors: a state that cannot be read then fails
    // only the command of its row.
    const loaded = await this.deps.streams
      .loadAll(recordStream, this.deps.run.tenantId, cold, { uncached: false })
      .catch(() => []);
    const loadedById = new Map(cold.map((id, at) => [id, loaded[at]]));
    const settled = await Promise.allSettled(
      ids.map((id) => this.#applyOne(id, loadedById.get(id), mayBeDone)),
    );
    for (const id of cold) this.#stream(id).evict();
    return settled;
  }

  async #applyOne(recordId: string, loaded: Loaded | undefined, mayBeDone: boolean): Promise<RowResult> {
    for (let tries = 0; tries < RACES; tries += 1) {
      const fresh: Loaded =
        tries === 0 && loaded !== undefined ? loaded : await this.#stream(recordId).refresh();
      refuseMixUp(fresh.state, recordId);
      const result = await this.#decide(fresh);
      if (result === 'again') continue;
      if (result.kind === 'succeeded' || !mayBeDone) return result;
      // A row that an earlier try applied must not be reported as an error.
      return (await this.wasApplied(recordId)) ? SUCCEEDED : result;
    }
    throw lostRace();
  }

  async #decide({ state, position }: Loaded): Promise<RowResult | 'again'> {
    const { params } = this.deps;
    if (state.status !== 'live' || state.entityName !== this.deps.run.entityName) {
      return params.kind === 'delete' ? this.#gone(state, position) : errored(recordNotFound, '');
    }
    if (!isSelected(this.deps.run, state)) return errored(selectionDrift, stateOf(state));
    return params.kind === 'delete' ? this.#delete(state) : this.#transition(state, params.event_name);
  }

  async #transition(state: LiveRecord, eventName: string): Promise<RowResult | 'again'> {
    if (state.job === undefined) return errored(withoutJob, '');
    const { tenantId, committedBy } = this.deps.run;
    const actor = { id: committedBy, role: 'admin' } as const;
    const command = { eventName, ifVersion: expectedVersion(this.deps.run, state) };
    const context = this.contextOf(state.id);
    const result = await this.deps.jobs.tryTransition(tenantId, state.id, command, actor, context);
    switch (result.outcome) {
      case 'moved':
        return { kind: 'succeeded', position: result.position };
      case 'not_found':
        return 'again';
      case 'refused': {
        const refusal = refusalOfTransition(result.refusal);
        return refusal === undefined ? 'again' : errored(refusal, stateOf(state));
      }
      default:
        return result satisfies never;
    }
  }

  async #delete(state: LiveRecord): Promise<RowResult | 'again'> {
    const { tenantId, entityName, sessionId } = this.deps.run;
    const newId = () => `${deletionPrefix(sessionId)}${this.deps.ids.next()}`;
    const context = { ...this.contextOf(state.id), priorAttempt: undefined, newId };
    const command = { ifVersion: expectedVersion(this.deps.run, state), untilSwept: true };
    try {
      const position = await this.deps.deletions.delete(tenantId, entityName, state.id, command, context);
      return { kind: 'succeeded', position };
    } catch (thrown) {
      return isLostRace(thrown) ? 'again' : { ...refused(thrown, state), blockedBy: blockerIn(thrown) };
    }
  }

  /** The result for a record that is not live: this session may have deleted it, by itself or by a cascade. */
  async #gone(state: RecordState, position: Position | undefined): Promise<RowResult | 'again'> {
    const { tenantId, sessionId } = this.deps.run;
    if (state.status !== 'deleting' && state.status !== 'deleted') return errored(recordNotFound, '');
    const { id: deletionId, cascadeOf } = state.deletion;
    if (!isDeletionOf(sessionId, deletionId)) return errored(recordNotFound, '');
    const { cause } = this.contextOf(state.id);
    const attempt = { tenantId, cause, deletionId, rootId: cascadeOf ?? state.id };
    if (state.status === 'deleting') {
      if (cascadeOf === undefined) await this.deps.deletions.resume(attempt);
      else await this.deps.deletions.follow(attempt, state.id);
      return 'again';
    }
    // An earlier run may have stopped before the cascade was complete.
    if (cascadeOf === undefined) await this.deps.deletions.sweep(attempt, position);
    return SUCCEEDED;
  }

  #stream(recordId: string) {
    return this.deps.streams.of(recordStream, this.deps.run.tenantId, recordId);
  }
}

/** The id of the record whose reference prevents the deletion. */
const blockerIn = (thrown: unknown): string | undefined => {
  if (!(thrown instanceof DomainError) || thrown.code !== 'in_use') return undefined;
  const id = thrown.details?.record_id;
  return typeof id === 'string' ? id : undefined;
};
