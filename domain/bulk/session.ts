import { notFound } from '../core/errors.ts';
import type { EventMeta } from '../core/event.ts';
import type { StreamType } from '../core/stream-type.ts';
import type { BulkEvent, Cascade, OpParams, Selection } from './session-events.ts';

/**
 * A bulk operation session (specification, States): a preview freezes rows, a commit processes only frozen rows, a
 * cancel ends the session. Rows are in the stream's events, not in the state.
 */

/** Maximum number of rows of a selection. */
export const MAX_ROWS = 100_000;
/** Maximum number of rows in one event. */
export const CHUNK = 1_000;
/** A commit of this number of rows or more is queued. */
export const QUEUED_FROM = 1_000;

export type SessionStatus = 'previewed' | 'committing' | 'committed' | 'errored' | 'cancelled';

interface RowCounts {
  readonly succeeded: number;
  readonly skipped: number;
  readonly errored: number;
}

export interface PreviewCounts {
  readonly total_resolved: number;
  readonly would_succeed: number;
  readonly would_skip: number;
  readonly would_error: number;
}

interface SessionResult extends RowCounts {
  readonly cascade_applied?: Cascade | undefined;
  /** When the commit ended (ms). */
  readonly endedAt: number;
  /** Errored sessions only: the number of rows that were not processed. */
  readonly not_processed?: number | undefined;
}

/** The facts that a session starts with. */
export interface NewSession {
  readonly id: string;
  readonly attempt: string;
  readonly entityName: string;
  readonly opParams: OpParams;
  readonly selection: Selection;
  readonly createdBy: string;
}

export interface PreviewingState extends NewSession {
  readonly status: 'previewing';
  readonly frozen: number;
}

export interface SessionState extends NewSession {
  readonly status: SessionStatus;
  readonly counts: PreviewCounts;
  readonly cascadeSummary?: Cascade | undefined;
  /** ms */
  readonly createdAt: number;
  readonly countAtCommit?: number | undefined;
  readonly committedBy?: string | undefined;
  /** Start of the commit (ms); the value of `now()` in the filter at commit. */
  readonly commitStartedAt?: number | undefined;
  /** Number of the present run; only the latest run may record rows. */
  readonly run: number;
  readonly done: RowCounts;
  readonly result?: SessionResult | undefined;
  /** ms */
  readonly cancelledAt?: number | undefined;
}

export type BulkState = { readonly status: 'none' } | PreviewingState | SessionState;

const NOTHING: RowCounts = { succeeded: 0, skipped: 0, errored: 0 };

export const processedOf = ({ succeeded, skipped, errored }: RowCounts): number =>
  succeeded + skipped + errored;

const evolve = (state: BulkState, event: BulkEvent, { at }: EventMeta): BulkState => {
  if (event.type === 'BulkPreviewStarted') {
    const { session_id, attempt, entity_name, op_params, selection, created_by } = event.data;
    return {
      status: 'previewing',
      id: session_id,
      attempt,
      entityName: entity_name,
      opParams: op_params,
      selection,
      createdBy: created_by,
      frozen: 0,
    };
  }
  if (state.status === 'none') return state;
  return state.status === 'previewing' ? evolvePreview(state, event, at) : evolveSession(state, event, at);
};

const evolvePreview = (state: PreviewingState, event: BulkEvent, at: number): BulkState => {
  if (!('attempt' in event.data) || event.data.attempt !== state.attempt) return state;
  if (event.type === 'BulkRowsResolved') return { ...state, frozen: state.frozen + event.data.rows.length };
  if (event.type !== 'BulkPreviewed') return state;
  const { total_resolved, would_succeed, would_skip, would_error, cascade_summary } = event.data;
  const { frozen: _counted, ...begun } = state;
  return {
    ...begun,
    status: 'previewed',
    counts: { total_resolved, would_succeed, would_skip, would_error },
    ...(cascade_summary === undefined ? {} : { cascadeSummary: cascade_summary }),
    createdAt: at,
    run: 0,
    done: NOTHING,
  };
};

const evolveSession = (state: SessionState, event: BulkEvent, at: number): SessionState => {
  switch (event.type) {
    case 'BulkCancelled':
      return { ...state, status: 'cancelled', cancelledAt: at };
    case 'BulkCommitStarted': {
      const { committed_by: committedBy, count_at_commit: countAtCommit } = event.data;
      return {
        ...state,
        status: 'committing',
        committedBy,
        commitStartedAt: at,
        ...(countAtCommit === undefined ? {} : { countAtCommit }),
      };
    }
    case 'BulkRunStarted':
      return { ...state, run: event.data.run };
    case 'BulkRowsProcessed': {
      const { succeeded, skipped, errors } = event.data;
      const done = {
        succeeded: state.done.succeeded + succeeded.length,
        skipped: state.done.skipped + skipped.length,
        errored: state.done.errored + errors.length,
      };
      return { ...state, done };
    }
    case 'BulkCommitted':
    case 'BulkCommitErrored': {
      const { session_id: _id, run: _run, ...totals } = event.data;
      const status = event.type === 'BulkCommitted' ? 'committed' : 'errored';
      return { ...state, status, result: { ...totals, endedAt: at } };
    }
    case 'BulkPreviewStarted':
    case 'BulkRowsResolved':
    case 'BulkErrorsPreviewed':
    case 'BulkPreviewed':
      return state;
    default:
      return event satisfies never;
  }
};

export const bulkStream: StreamType<BulkState, BulkEvent> = {
  category: 'bulk',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve,
};

/** A session with a complete preview. @throws `not_found` */
export const sessionIn = (state: BulkState): SessionState => {
  if (state.status === 'none' || state.status === 'previewing') throw notFound();
  return state;
};
