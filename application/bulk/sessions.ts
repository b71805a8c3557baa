import {
  type BulkState,
  bulkStream,
  MAX_ROWS,
  QUEUED_FROM,
  type SessionState,
  sessionIn,
} from '../../domain/bulk/session.ts';
import { cancelSession, startCommit } from '../../domain/bulk/session-decisions.ts';
import type { OpParams, RowError, Selection } from '../../domain/bulk/session-events.ts';
import { invalidAt } from '../../domain/core/errors.ts';
import { type Filter, parseFilter } from '../../domain/expressions/filter.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import type { EventCodec } from '../core/events/event-codec.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Schemas } from '../entities/schemas.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import { specsOf } from '../workflow/workflow-uses.ts';
import { readErrors } from './frozen-rows.ts';
import type { BulkPreviews, Shown } from './preview.ts';
import type { SelectedBy } from './row.ts';
import type { BulkRunner } from './runner.ts';

export interface RecordSelector {
  /** Ids of the records that a filter selects, newest first. */
  ids(tenantId: string, entityName: string, by: SelectedBy): AsyncIterable<string>;
  count(tenantId: string, entityName: string, by: SelectedBy): Promise<number>;
}

export interface BulkRequest {
  readonly entityName: string;
  readonly opParams: OpParams;
  readonly selection:
    | { readonly kind: 'ids'; readonly ids: readonly string[] }
    | {
        readonly kind: 'filter';
        /** The filter as text, or in its object form. */
        readonly filterExpr: Extract<Selection, { kind: 'filter' }>['filter_expr'];
        readonly countAtPreview: number | undefined;
      };
}

export type CurrentSession = Written<{ readonly session: SessionState }>;

/** Ids added between two checks of the time slice. */
const IDS_PER_STEP = 1024;
/** How long (ms) a request waits for another process or a retry; then it answers with the committing session. */
const WAIT_MS = 120_000;
const POLL_MS = 100;

/** Use cases on bulk sessions (specification, Bulk operations; decisions, section 5). */
export class BulkSessions extends WithDeps<{
  readonly streams: Streams;
  readonly schemas: Schemas;
  readonly selector: RecordSelector;
  readonly previews: BulkPreviews;
  readonly runner: BulkRunner;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly clock: Clock;
}> {
  /**
   * Makes a dry-run of each row, and appends only to the session's stream.
   * @param admit called with the number of rows before their dry-run; throws to refuse the preview
   * @throws `not_found` for an unknown entity, `invalid_filter`, `validation_failed` for too many rows, and the errors
   * of {@link BulkPreviews.make}
   */
  async preview(
    tenantId: string,
    request: BulkRequest,
    context: RequestContext,
    admit: (rows: number) => void = () => undefined,
  ): Promise<CurrentSession & { readonly shown?: Shown }> {
    const id = context.newId();
    if (context.priorAttempt !== undefined) {
      const { state, position } = await this.#stream(tenantId, id).refresh();
      if (state.status !== 'none' && state.status !== 'previewing') return { session: state, position };
    }
    const { entityName, opParams } = request;
    const { fields } = await this.deps.schemas.requireLatest(tenantId, entityName);
    const filter =
      request.selection.kind === 'filter'
        ? parseFilter(request.selection.filterExpr, specsOf(fields))
        : undefined;
    const rows = await this.#resolve(tenantId, request, filter);
    admit(rows.length);
    const session = {
      id,
      entityName,
      opParams,
      selection: selectionOf(request.selection, filter),
      createdBy: context.cause.actor.id,
    };
    const made = await this.deps.previews.make(tenantId, session, rows, context.cause);
    return { ...currentIn(made), shown: made.shown };
  }

  /**
   * Commits up to 999 rows before it resolves. The returned session may still be committing in three cases: with 1,000
   * or more rows, after a wait of 120 s for another process or a retry, and at shutdown.
   * @throws `not_found`, `invalid_transition`
   */
  async commit(tenantId: string, id: string, context: RequestContext): Promise<CurrentSession> {
    const { session } = await this.session(tenantId, id);
    const countAtCommit = session.status === 'previewed' ? await this.#count(tenantId, session) : undefined;
    const committedBy = context.cause.actor.id;
    const started = currentIn(
      await this.#stream(tenantId, id).execute(context, (state) =>
        startCommit(state, { committedBy, countAtCommit }),
      ),
    );
    if (started.session.counts.total_resolved >= QUEUED_FROM) return started;
    const deadline = monotonic() + WAIT_MS;
    while (!(await this.deps.runner.commit(tenantId, id)) && !this.deps.runner.isStopped) {
      const current = await this.session(tenantId, id);
      if (current.session.status !== 'committing' || monotonic() > deadline) break;
      await pause(POLL_MS);
    }
    return this.session(tenantId, id);
  }

  /** @throws `not_found`, `invalid_transition` */
  async cancel(tenantId: string, id: string, context: RequestContext): Promise<CurrentSession> {
    return currentIn(await this.#stream(tenantId, id).execute(context, cancelSession));
  }

  /** The session as stored now. @throws `not_found` */
  async session(tenantId: string, id: string): Promise<CurrentSession> {
    return currentIn(await this.#stream(tenantId, id).refresh());
  }

  /** All row errors in the order of the preview. @throws `not_found` */
  async errors(tenantId: string, id: string): Promise<readonly RowError[]> {
    const { session } = await this.session(tenantId, id);
    return readErrors(this.deps, tenantId, session);
  }

  async #resolve(tenantId: string, request: BulkRequest, filter: Filter | undefined): Promise<string[]> {
    const { selection, entityName } = request;
    const rows = new Set<string>();
    const slice = timeSlices.of(tenantId, 'previewSelection');
    for (const [at, id] of (selection.kind === 'ids' ? selection.ids : []).entries()) {
      if (at % IDS_PER_STEP === 0 && slice.isOver) await slice.next();
      rows.add(id);
    }
    if (filter !== undefined) {
      for await (const id of this.deps.selector.ids(tenantId, entityName, {
        filter,
        now: this.deps.clock.now(),
      })) {
        rows.add(id);
        if (rows.size > MAX_ROWS) break;
      }
    }
    if (rows.size <= MAX_ROWS) return [...rows];
    throw invalidAt('selection', 'too_big', `A bulk operation can change at most ${MAX_ROWS} records.`);
  }

  async #count(tenantId: string, { selection, entityName }: SessionState): Promise<number | undefined> {
    if (selection.kind !== 'filter') return undefined;
    // The cast holds: the preview stored a checked filter.
    const filter = selection.filter as Filter;
    return this.deps.selector.count(tenantId, entityName, { filter, now: this.deps.clock.now() });
  }

  #stream(tenantId: string, id: string) {
    return this.deps.streams.of(bulkStream, tenantId, id);
  }
}

const currentIn = ({ state, position }: Written<{ readonly state: BulkState }>): CurrentSession => ({
  session: sessionIn(state),
  position,
});

const selectionOf = (selection: BulkRequest['selection'], filter: Filter | undefined): Selection => {
  if (selection.kind === 'ids' || filter === undefined) return { kind: 'ids' };
  const { filterExpr: filter_expr, countAtPreview } = selection;
  return {
    kind: 'filter',
    filter_expr,
    // A checked filter is plain JSON.
    filter: JSON.parse(JSON.stringify(filter)),
    ...(countAtPreview === undefined ? {} : { count_at_preview: countAtPreview }),
  };
};
