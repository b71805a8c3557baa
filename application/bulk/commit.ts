import { notProcessable } from '../../domain/bulk/outcomes.ts';
import { type BulkState, bulkStream, type SessionState, sessionIn } from '../../domain/bulk/session.ts';
import { failCommit, finishCommit, startRun } from '../../domain/bulk/session-decisions.ts';
import type { BulkEvent, Cascade } from '../../domain/bulk/session-events.ts';
import type { Streams } from '../core/commands/streams.ts';
import { Interrupted, isTransient, OutOfReach, type RetryPolicy } from '../core/concurrency/retry-policy.ts';
import type { TenantTurns } from '../core/concurrency/tenant-turns.ts';
import type { Cause, EventCodec } from '../core/events/event-codec.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import { BatchSizer } from './batch-sizer.ts';
import { countCascade } from './deletions.ts';
import { type Frozen, readFrozen } from './frozen-rows.ts';
import type { ForegroundLoad, Referrers, RunningSession } from './ports.ts';
import { Recorder } from './recorder.ts';
import type { RowExecutor, SettledRow } from './row-executor.ts';
import type { RowJob } from './row-job.ts';
import { RowQueue } from './row-queue.ts';
import type { RowResult } from './row-result.ts';

export interface CommitDeps {
  readonly streams: Streams;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly rows: RowExecutor;
  readonly referrers: Referrers;
  /** Load of requests, which have priority over a commit. */
  readonly foreground: ForegroundLoad;
  /** Each batch of rows takes a turn of its tenant. */
  readonly turns: TenantTurns;
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'rowsProcessed'>;
  /** Rows processed at the same time. */
  readonly width: number;
  /** Retries unavailable stores and rows that keep losing races. */
  readonly policy: RetryPolicy;
}

/** Concurrent batches of deletions and transitions, which wait for read models and guards. */
const BATCHES = 4;
const UNEXPECTED_TRIES = 3;

/**
 * Commits a session: starts a run, reads the frozen rows, applies those without a result, records their results, and
 * ends the session. Any process can run it again after a crash (decision 15).
 * @returns true when the session has ended
 * @throws {TakenOver} when another run has started, {Interrupted}, {OutOfReach}
 */
export const runCommit = async (
  deps: CommitDeps,
  { tenantId, sessionId }: RunningSession,
  signal: AbortSignal,
): Promise<boolean> => {
  const { policy, logger, streams } = deps;
  const system: Cause = {
    actor: { kind: 'system', id: 'bulk-worker' },
    correlationId: sessionId,
    causationId: sessionId,
  };
  const decide = async (cause: Cause, decision: (state: BulkState) => readonly BulkEvent[]) =>
    sessionIn((await streams.of(bulkStream, tenantId, sessionId).execute({ cause }, decision)).state);

  const session = await policy.with(() => decide(system, startRun));
  if (session.status !== 'committing') return true;
  const frozen = await policy.with(() => readFrozen(deps, tenantId, session));
  const job = jobOf(tenantId, session, frozen);
  const recorder = new Recorder(streams, job, session.run, policy, deps.metrics);
  const commit = new RowLoop(deps, job, frozen, recorder);
  const end = (decision: typeof finishCommit | typeof failCommit) => async (tries: number) => {
    const applied = await cascadeOf(deps, job, frozen.rows);
    await decide(job.cause, (state) =>
      // An earlier try may have been stored although its answer was lost.
      tries > 0 && sessionIn(state).status !== 'committing' ? [] : decision(state, session.run, applied),
    );
  };
  try {
    await commit.applyAll(signal);
    await recorder.flush();
    await policy.with(end(finishCommit));
  } catch (error) {
    if (error instanceof Interrupted) await recorder.tryOnce();
    if (!(error instanceof OutOfReach)) throw error;
    logger.error({ session_id: sessionId }, 'a store was out of reach for too long; a bulk commit ends');
    await commit.settle();
    await policy.always(end(failCommit));
  }
  return true;
};

/** Applies the rows of one run in batches. */
class RowLoop {
  readonly #deps: CommitDeps;
  readonly #job: RowJob;
  readonly #ids: readonly string[];
  readonly #queue: RowQueue;
  readonly #recorder: Recorder;
  readonly #sizer: BatchSizer;
  readonly #batches: number;
  /** Started rows without a known result. */
  readonly #open = new Set<number>();

  constructor(deps: CommitDeps, job: RowJob, frozen: Pick<Frozen, 'rows' | 'over'>, recorder: Recorder) {
    this.#deps = deps;
    this.#job = job;
    this.#ids = frozen.rows;
    this.#queue = new RowQueue(frozen.rows, frozen.over);
    this.#recorder = recorder;
    // Edits share one group commit, so batches of them do not run concurrently.
    this.#batches = job.opParams.kind === 'edit' ? 1 : BATCHES;
    this.#sizer = new BatchSizer(Math.ceil(deps.width / this.#batches), deps.foreground);
  }

  /** Resolves when no row is left. */
  async applyAll(signal: AbortSignal): Promise<void> {
    const running = new Set<Promise<void>>();
    let failure: { readonly error: unknown } | undefined;
    try {
      for (;;) {
        await this.#recorder.ready();
        await this.#sizer.ready();
        if (signal.aborted) throw new Interrupted();
        if (failure !== undefined) throw failure.error;
        const rows = running.size < this.#batches ? this.#take() : [];
        if (rows.length === 0 && running.size === 0) return;
        if (rows.length === 0) await Promise.race(running);
        else {
          const batch = this.#apply(rows)
            .catch((error: unknown) => {
              failure ??= { error };
            })
            .finally(() => running.delete(batch));
          running.add(batch);
        }
      }
    } finally {
      await Promise.all(running);
    }
  }

  /** Records the rows that turn out to be done among those without a known result. */
  async settle(): Promise<void> {
    const { policy } = this.#deps;
    for (const row of [...this.#queue.left()]) {
      if (!this.#open.has(row) && !this.#job.isRetaken) continue;
      const isDone = await policy.always(() => this.#isDone(this.#idOf(row)));
      if (isDone) this.#recorder.add(row, this.#idOf(row), { kind: 'succeeded' });
    }
    await this.#recorder.flush('always');
  }

  #take(): readonly number[] {
    const rows: number[] = [];
    const most = this.#sizer.size();
    while (rows.length < most) {
      const row = this.#queue.take();
      if (row === undefined) break;
      rows.push(row);
    }
    return rows;
  }

  /** @throws {OutOfReach}, {Interrupted}; rows without a result stay open */
  async #apply(rows: readonly number[]): Promise<void> {
    const { job, ids } = { job: this.#job, ids: rows.map((row) => this.#idOf(row)) };
    for (const row of rows) this.#open.add(row);
    const turn = await this.#deps.turns.take(job.tenantId, 'bulkRows');
    await turn.begin();
    const settled = await this.#deps.rows.apply(job, ids, job.isRetaken).finally(turn.end);
    const ends = await Promise.allSettled(rows.map((row, at) => this.#end(row, settled[at])));
    this.#sizer.wrote(settled);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  async #end(row: number, settled: SettledRow | undefined): Promise<void> {
    const id = this.#idOf(row);
    const result = settled?.status === 'fulfilled' ? settled.value : await this.#again(id, settled?.reason);
    this.#open.delete(row);
    if (result.kind === 'restricted' && this.#queue.putBack(row, result.referrerId)) return;
    this.#queue.done(row, result.kind === 'succeeded' && this.#job.opParams.kind === 'delete');
    this.#recorder.add(row, id, result);
  }

  /** Retries a row until its result is known. @throws {OutOfReach}, {Interrupted} */
  async #again(id: string, reason: unknown): Promise<RowResult> {
    const { policy, rows, logger } = this.#deps;
    let error = reason;
    for (let failures = 1; ; ) {
      if (error instanceof OutOfReach || error instanceof Interrupted) throw error;
      if (!isTransient(error)) {
        const { sessionId: session_id } = this.#job;
        logger.error({ err: error, session_id, record_id: id }, 'a row of a bulk session failed');
        if (failures >= UNEXPECTED_TRIES) break;
        failures += 1;
      }
      try {
        return await policy.with(async () => {
          const [settled] = await rows.apply(this.#job, [id], true);
          if (settled?.status === 'fulfilled') return settled.value;
          throw settled?.reason;
        });
      } catch (thrown) {
        error = thrown;
      }
    }
    const isDone = await policy.with(() => this.#isDone(id));
    return isDone ? { kind: 'succeeded' } : { kind: 'error', currentState: '', refusal: notProcessable };
  }

  async #isDone(id: string): Promise<boolean> {
    try {
      return await this.#deps.rows.isDone(this.#job, id);
    } catch (error) {
      if (isTransient(error)) throw error;
      // A record that cannot be decoded was not changed by an earlier run either.
      return false;
    }
  }

  #idOf(row: number): string {
    return this.#ids[row] ?? '';
  }
}

const cascadeOf = async (
  deps: CommitDeps,
  { opParams, tenantId, sessionId, entityName, since }: RowJob,
  rows: readonly string[],
): Promise<Cascade | undefined> => {
  if (opParams.kind !== 'delete') return undefined;
  if (!(await deps.referrers.canPointTo(tenantId, entityName))) return { by_entity: [], total: 0 };
  return countCascade(deps, tenantId, sessionId, new Set(rows), since);
};

const jobOf = (
  tenantId: string,
  session: SessionState,
  { cause, since }: Pick<RowJob, 'cause' | 'since'>,
): RowJob => {
  const { id: sessionId, entityName, opParams, selection, commitStartedAt = 0, run } = session;
  return {
    tenantId,
    sessionId,
    entityName,
    opParams,
    // The preview stored a checked filter.
    selectedBy:
      selection.kind === 'filter'
        ? { filter: selection.filter as NonNullable<RowJob['selectedBy']>['filter'], now: commitStartedAt }
        : undefined,
    committedBy: session.committedBy ?? cause.actor.id,
    cause,
    since,
    isRetaken: run > 1,
  };
};
