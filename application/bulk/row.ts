import { type RowRefusal, recordNotFound, refusalOfError, tooLarge } from '../../domain/bulk/outcomes.ts';
import type { OpParams } from '../../domain/bulk/session-events.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { isUuid } from '../../domain/core/text.ts';
import type { JsonValue } from '../../domain/entities/fields.ts';
import { type LiveRecord, type RecordState, recordStream } from '../../domain/entities/record.ts';
import { type Filter, matches } from '../../domain/expressions/filter.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { WriterGate } from '../core/commands/writer-gate.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Deletions } from '../entities/deletions.ts';
import type { Records } from '../entities/records.ts';
import type { Schemas } from '../entities/schemas.ts';
import type { Ids } from '../ports/clock.ts';
import { EventTooLarge, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { Jobs } from '../workflow/jobs.ts';

/** A filter, and the time at which it is evaluated. */
export interface SelectedBy {
  readonly filter: Filter;
  /** `now()` of the filter (ms). */
  readonly now: number;
}

/** One run of a commit over the rows of a session. */
export interface CommitRun {
  readonly tenantId: string;
  readonly sessionId: string;
  /** From 1. */
  readonly number: number;
  readonly entityName: string;
  readonly opParams: OpParams;
  /** For a selection by filter: rows that the filter no longer selects stay unchanged. */
  readonly selectedBy: SelectedBy | undefined;
  readonly committedBy: string;
  /** The cause of the commit; each row has its own causation id. */
  readonly cause: Cause;
  /** Position of the commit's start. */
  readonly since: Position;
}

// Results

interface ErroredRow {
  readonly kind: 'error';
  readonly currentState: string;
  readonly refusal: RowRefusal;
  /** The record that must be deleted first. */
  readonly blockedBy?: string | undefined;
}

export type RowResult =
  | { readonly kind: 'succeeded'; readonly position?: Position | undefined }
  | { readonly kind: 'skipped' }
  | ErroredRow;

export type SettledRow = PromiseSettledResult<RowResult>;

export const errored = (refusal: RowRefusal, currentState: string): ErroredRow => ({
  kind: 'error',
  currentState,
  refusal,
});

export const lostRace = (): DomainError =>
  new DomainError('unavailable', 'The record is too busy at the moment. Try again.');

export const isLostRace = (thrown: unknown): boolean =>
  thrown instanceof DomainError && (thrown.code === 'conflict' || thrown.code === 'not_found');

/** @throws `unavailable` after a lost race; rethrows errors that are not a result of the row */
export const refused = (thrown: unknown, state: LiveRecord | undefined): ErroredRow => {
  if (state === undefined || thrown instanceof StoreUnavailable) throw thrown;
  if (thrown instanceof EventTooLarge) return errored(tooLarge, stateOf(state));
  if (isLostRace(thrown)) throw lostRace();
  const refusal = refusalOfError(thrown);
  if (refusal === undefined) throw thrown;
  return errored(refusal, stateOf(state));
};

// Records and values

/** The job's state; empty without a job. */
export const stateOf = (state: RecordState): string =>
  state.status === 'live' ? (state.job?.state ?? '') : '';

export type EditParams = Extract<OpParams, { kind: 'edit' }>;

/** The values that an edit sets, by field. */
export const inputOf = ({ fields }: EditParams): Readonly<Record<string, JsonValue>> =>
  Object.fromEntries(fields.map(({ field_key, new_value }) => [field_key, new_value]));

/** Whether the session's selection still includes the record. */
export const isSelected = ({ selectedBy }: CommitRun, record: LiveRecord): boolean =>
  selectedBy === undefined || matches(selectedBy.filter, fieldsOf(record), selectedBy.now);

/** The fields of a record that a filter may use. */
const fieldsOf = (record: LiveRecord) => ({
  id: record.id,
  state: record.job?.state ?? null,
  // Getters, since few filters use times.
  get created_at() {
    return new Date(record.createdAt).toISOString();
  },
  get updated_at() {
    return new Date(record.updatedAt).toISOString();
  },
  values: record.values,
});

/** The version to expect: a filter must select the version that is changed. Undefined for a selection by ids. */
export const expectedVersion = ({ selectedBy }: CommitRun, { version }: LiveRecord): number | undefined =>
  selectedBy === undefined ? undefined : version;

/** Throws if the state has another record's id, as in a tampered log, so that the wrong record is not changed. */
export const refuseMixUp = (state: RecordState, recordId: string): void => {
  if ('id' in state && state.id !== recordId)
    throw new Error(`the stream of record ${recordId} holds record ${state.id}`);
};

// Operations

/** The causation id of a row's events (decision 15). Request ids have no colon and cannot equal it. */
export const rowCausation = (sessionId: string, recordId: string): string => `bulk:${sessionId}:${recordId}`;

export interface RowDeps {
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly writers: WriterGate;
  readonly records: Records;
  readonly deletions: Deletions;
  readonly jobs: Jobs;
  readonly ids: Ids;
}

/**
 * Applies a session's operation to rows, with the same decisions as single commands. Repeats have no further effect,
 * since the causation identifies a row's events (decision 15).
 */
export abstract class RowOperation<Params extends OpParams = OpParams> extends WithDeps<
  RowDeps & { readonly run: CommitRun; readonly params: Params }
> {
  /**
   * Applies rows together; never rejects as a whole. A row with an unknown outcome is rejected and must be retried; the
   * reason is {StoreUnavailable}, `unavailable`, `read_model_behind` or an unexpected error.
   * @param mayBeDone an earlier try may have applied some of the rows
   */
  async apply(ids: readonly string[], mayBeDone: boolean): Promise<readonly SettledRow[]> {
    const settled = await this.applyKnown(ids.filter(isUuid), mayBeDone);
    let next = 0;
    return ids.map((id): SettledRow => {
      const row = isUuid(id) ? settled[next++] : undefined;
      return row ?? { status: 'fulfilled', value: errored(recordNotFound, '') };
    });
  }

  /** @param ids only UUIDs, since other ids have no stream */
  protected abstract applyKnown(ids: readonly string[], mayBeDone: boolean): Promise<readonly SettledRow[]>;

  /** Whether the session has applied the row. @throws the errors with which {@link apply} rejects a row */
  async wasApplied(recordId: string): Promise<boolean> {
    if (!isUuid(recordId)) return false;
    const { events } = await this.deps.streams
      .of(recordStream, this.deps.run.tenantId, recordId)
      .outcomeOf(this.contextOf(recordId));
    return events.length > 0;
  }

  /**
   * The context of a row's command. Its causation id derives from session and record, so that `execute` searches the
   * stream back to the commit's start for events of an earlier try.
   */
  protected contextOf(recordId: string): RequestContext {
    const { cause, sessionId, since } = this.deps.run;
    return {
      cause: { ...cause, causationId: rowCausation(sessionId, recordId) },
      priorAttempt: { after: since },
      newId: () => this.deps.ids.next(),
    };
  }
}
