import { DomainError } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import {
  type BulkState,
  type NewSession,
  type PreviewingState,
  processedOf,
  type SessionState,
  sessionIn,
} from './session.ts';
import {
  BulkCancelled,
  BulkCommitErrored,
  BulkCommitStarted,
  BulkCommitted,
  BulkErrorsPreviewed,
  type BulkEvent,
  BulkPreviewed,
  BulkPreviewStarted,
  BulkRowsProcessed,
  BulkRowsResolved,
  BulkRunStarted,
  type Cascade,
  type FrozenRow,
  type PreviewCounts,
  type RowError,
  type Sample,
} from './session-events.ts';

/** Decisions of a bulk session: preview, commit, cancel, and recording of rows. */

// Preview

/** No events when an earlier try of the same request has completed the preview. */
export const startPreview = (state: BulkState, session: NewSession): readonly BulkEvent[] => {
  if (state.status !== 'none' && state.status !== 'previewing') return [];
  const { id, attempt, entityName, opParams, selection, createdBy } = session;
  return decided(BulkPreviewStarted, {
    session_id: id,
    attempt,
    entity_name: entityName,
    op_params: opParams,
    selection,
    created_by: createdBy,
  });
};

/** @throws `conflict` when another try of the same request has taken over or has completed the preview */
const previewing = (state: BulkState, attempt: string): PreviewingState => {
  if (state.status === 'previewing' && state.attempt === attempt) return state;
  throw new DomainError('conflict', 'A newer attempt of the same request replaced this preview.');
};

/** @param first index of the first row @throws `conflict` */
export const freezeRows = (
  state: BulkState,
  attempt: string,
  first: number,
  rows: readonly FrozenRow[],
): readonly BulkEvent[] => {
  const { id, frozen } = previewing(state, attempt);
  if (first !== frozen) throw new Error(`row ${first} is frozen after ${frozen}`);
  return decided(BulkRowsResolved, {
    session_id: id,
    attempt,
    first,
    rows: [...rows],
  });
};

/** @throws `conflict` */
export const recordPreviewErrors = (
  state: BulkState,
  attempt: string,
  errors: readonly RowError[],
): readonly BulkEvent[] => {
  const { id } = previewing(state, attempt);
  return decided(BulkErrorsPreviewed, { session_id: id, attempt, errors: [...errors] });
};

/** @throws `conflict` */
export const finishPreview = (
  state: BulkState,
  attempt: string,
  preview: {
    readonly counts: PreviewCounts;
    readonly cascadeSummary: Cascade | undefined;
    readonly sample: readonly Sample[];
  },
): readonly BulkEvent[] => {
  const { id, frozen } = previewing(state, attempt);
  const { total_resolved, would_succeed, would_skip, would_error } = preview.counts;
  if (would_succeed + would_skip + would_error !== total_resolved || frozen !== total_resolved) {
    throw new Error('the counts of a preview do not add up');
  }
  return decided(BulkPreviewed, {
    session_id: id,
    attempt,
    ...preview.counts,
    cascade_summary: preview.cascadeSummary,
    sample_affected: [...preview.sample],
  });
};

// Commit and cancel

/** @throws `not_found`, `invalid_transition` with `details.state` and `details.allowed` */
const previewed = (state: BulkState): SessionState => {
  const session = sessionIn(state);
  if (session.status === 'previewed') return session;
  const details = { state: session.status, allowed: [] };
  throw new DomainError('invalid_transition', `The session is ${session.status}.`, details);
};

/** @throws `not_found`, `invalid_transition` */
export const cancelSession = (state: BulkState): readonly BulkEvent[] => {
  const { id } = previewed(state);
  return decided(BulkCancelled, { session_id: id });
};

/** Moves a previewed session to committing. @throws `not_found`, `invalid_transition` */
export const startCommit = (
  state: BulkState,
  commit: { readonly committedBy: string; readonly countAtCommit: number | undefined },
): readonly BulkEvent[] => {
  const { id } = previewed(state);
  const { committedBy, countAtCommit } = commit;
  return decided(BulkCommitStarted, {
    session_id: id,
    committed_by: committedBy,
    count_at_commit: countAtCommit,
  });
};

/** Starts a new run, which ends earlier runs. No events unless the session is committing. @throws `not_found` */
export const startRun = (state: BulkState): readonly BulkEvent[] => {
  const session = sessionIn(state);
  if (session.status !== 'committing') return [];
  return decided(BulkRunStarted, { session_id: session.id, run: session.run + 1 });
};

/** Thrown in a run when a later run has started or the session has ended. */
export class TakenOver extends Error {
  override readonly name = 'TakenOver';
}

/** @throws {TakenOver} */
const ownRun = (state: BulkState, run: number): SessionState => {
  const session = sessionIn(state);
  if (session.status !== 'committing' || session.run !== run) throw new TakenOver();
  return session;
};

export interface Processed {
  readonly succeeded: readonly number[];
  readonly skipped: readonly number[];
  readonly errors: readonly RowError[];
}

/** Records outcomes of rows. @throws {TakenOver} */
export const recordRows = (state: BulkState, run: number, rows: Processed): readonly BulkEvent[] => {
  const { id, done, counts } = ownRun(state, run);
  const { succeeded, skipped, errors } = rows;
  const more = succeeded.length + skipped.length + errors.length;
  if (more === 0) return [];
  if (processedOf(done) + more > counts.total_resolved) throw new Error('more rows are done than there are');
  return decided(BulkRowsProcessed, {
    session_id: id,
    run,
    succeeded: [...succeeded],
    skipped: [...skipped],
    errors: [...errors],
  });
};

/** @throws {TakenOver} */
export const finishCommit = (
  state: BulkState,
  run: number,
  applied: Cascade | undefined,
): readonly BulkEvent[] => {
  const { id, done, counts } = ownRun(state, run);
  if (processedOf(done) !== counts.total_resolved) throw new Error('not all rows are done');
  return decided(BulkCommitted, { session_id: id, run, ...done, cascade_applied: applied });
};

/** Ends a commit because a store was unavailable for too long. @throws {TakenOver} */
export const failCommit = (
  state: BulkState,
  run: number,
  applied: Cascade | undefined,
): readonly BulkEvent[] => {
  const { id, done, counts } = ownRun(state, run);
  const not_processed = counts.total_resolved - processedOf(done);
  return decided(BulkCommitErrored, {
    session_id: id,
    run,
    ...done,
    cascade_applied: applied,
    not_processed,
  });
};
