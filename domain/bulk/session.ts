import { notFound } from '../core/errors.ts';
import { folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import type { BulkEvent, Cascade, OpParams, PreviewCounts, Selection, Totals } from './session-events.ts';

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

type RowCounts = Readonly<Omit<Totals, 'cascade_applied'>>;

interface SessionResult extends Readonly<Totals> {
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
  readonly status: 'previewed' | 'committing' | 'committed' | 'errored' | 'cancelled';
  readonly counts: Readonly<PreviewCounts>;
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

const onPreview = onlyIn((state: BulkState): state is PreviewingState => state.status === 'previewing');

const isSession = (state: BulkState): state is SessionState =>
  state.status !== 'none' && state.status !== 'previewing';
const onSession = onlyIn(isSession);

type Ended = Extract<BulkEvent, { type: 'BulkCommitted' | 'BulkCommitErrored' }>['data'];

const ended = (status: 'committed' | 'errored') =>
  onSession((state, { session_id: _id, run: _run, ...totals }: Ended, { at }) => ({
    ...state,
    status,
    result: { ...totals, endedAt: at },
  }));

export const bulkStream: StreamType<BulkState, BulkEvent> = {
  category: 'bulk',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve: folded({
    BulkPreviewStarted: (_state, data) => ({
      status: 'previewing',
      id: data.session_id,
      attempt: data.attempt,
      entityName: data.entity_name,
      opParams: data.op_params,
      selection: data.selection,
      createdBy: data.created_by,
      frozen: 0,
    }),
    BulkRowsResolved: onPreview((state, { attempt, rows }) =>
      attempt === state.attempt ? { ...state, frozen: state.frozen + rows.length } : state,
    ),
    BulkErrorsPreviewed: (state) => state,
    BulkPreviewed: onPreview((state, { attempt, cascade_summary, ...counts }, { at }) => {
      if (attempt !== state.attempt) return state;
      const { total_resolved, would_succeed, would_skip, would_error } = counts;
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
    }),
    BulkCancelled: onSession((state, _data, { at }) => ({ ...state, status: 'cancelled', cancelledAt: at })),
    BulkCommitStarted: onSession((state, { committed_by: committedBy, count_at_commit }, { at }) => ({
      ...state,
      status: 'committing',
      committedBy,
      commitStartedAt: at,
      ...(count_at_commit === undefined ? {} : { countAtCommit: count_at_commit }),
    })),
    BulkRunStarted: onSession((state, { run }) => ({ ...state, run })),
    BulkRowsProcessed: onSession((state, { succeeded, skipped, errors }) => ({
      ...state,
      done: {
        succeeded: state.done.succeeded + succeeded.length,
        skipped: state.done.skipped + skipped.length,
        errored: state.done.errored + errors.length,
      },
    })),
    BulkCommitted: ended('committed'),
    BulkCommitErrored: ended('errored'),
  }),
};

/** A session with a complete preview. @throws `not_found` */
export const sessionIn = (state: BulkState): SessionState => {
  if (!isSession(state)) throw notFound();
  return state;
};
