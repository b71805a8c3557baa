import { type BulkState, bulkStream, type SessionState, sessionIn } from '../../domain/bulk/session.ts';
import { failCommit, finishCommit, startRun, TakenOver } from '../../domain/bulk/session-decisions.ts';
import type { BulkEvent } from '../../domain/bulk/session-events.ts';
import type { Filter } from '../../domain/expressions/filter.ts';
import { Interrupted, OutOfReach, RetryPolicy } from '../core/concurrency/retry-policy.ts';
import type { Cause, EventCodec } from '../core/events/event-codec.ts';
import { whileRenewed } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { ReadStore } from '../ports/read-store.ts';
import { countCascade, type Referrers } from './cascades.ts';
import { type Frozen, readFrozen } from './frozen-rows.ts';
import { Recorder } from './recorder.ts';
import type { CommitRun } from './row.ts';
import { RowLoop, type RowLoopDeps } from './row-loop.ts';

/** A committing session. */
export interface CommittingSession {
  readonly tenantId: string;
  readonly sessionId: string;
}

export interface RunnerOptions {
  readonly leaseMs: number;
  /** A commit ends as errored when a store or record is unavailable and no step has succeeded for this long (ms). */
  readonly outOfReachMs: number;
  /** Rows processed at the same time. */
  readonly width: number;
  /** First pause (ms) after a failure. */
  readonly pauseMs: number;
}

export const RUNNER: RunnerOptions = { leaseMs: 3000, outOfReachMs: 15 * 60_000, width: 256, pauseMs: 50 };

interface CommitDeps extends RowLoopDeps {
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly referrers: Referrers;
  readonly metrics: Pick<Metrics, 'rowsProcessed'>;
}

/** Runs commits, each under its own lease, so that another process takes over after a crash. */
export class BulkRunner extends WithDeps<
  Omit<CommitDeps, 'policy'> &
    RunnerOptions & {
      readonly leases: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
      readonly clock: Clock;
      readonly owner: string;
    }
> {
  readonly #running = new Map<string, Promise<boolean>>();
  readonly #stopping = new AbortController();

  /** Lets running rows end and starts no further rows. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running.values());
  }

  get isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  isCommitting(tenantId: string, sessionId: string): boolean {
    return this.#running.has(`${tenantId}/${sessionId}`);
  }

  /**
   * Commits a session to its end.
   * @returns false when another process commits it, or the commit was interrupted or failed and must be repeated
   */
  commit(tenantId: string, sessionId: string): Promise<boolean> {
    const key = `${tenantId}/${sessionId}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = this.#commitUnderLease({ tenantId, sessionId }).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #commitUnderLease(session: CommittingSession): Promise<boolean> {
    const { leases, owner, logger, leaseMs: ttlMs } = this.deps;
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    const name = `bulk:${session.tenantId}/${session.sessionId}`;
    const lease = await leases.acquireLease(name, owner, ttlMs);
    if (lease === undefined) return false;
    let hasEnded = false;
    await whileRenewed(lease, { store: leases, logger, owner, ttlMs }, signal, async (_lease, held) => {
      hasEnded = await this.#tryCommit(session, held);
    });
    return hasEnded;
  }

  async #tryCommit(session: CommittingSession, signal: AbortSignal): Promise<boolean> {
    const { clock, logger, outOfReachMs: limitMs, pauseMs } = this.deps;
    const policy = new RetryPolicy({ clock, limitMs, pauseMs }, signal);
    try {
      return await runCommit({ ...this.deps, policy }, session, signal);
    } catch (error) {
      const isExpected =
        error instanceof TakenOver || error instanceof Interrupted || error instanceof OutOfReach;
      if (!isExpected) {
        logger.error(
          { err: error, session_id: session.sessionId },
          'a bulk session failed; it is retried later',
        );
      }
      return false;
    }
  }
}

/**
 * Commits a session: starts a run, reads the frozen rows, applies the rows that have no result, records the results,
 * and ends the session. After a crash, any process can call this function again (decision 15).
 * @returns true when the session has ended
 * @throws {TakenOver} when another run has started or ended the session, {Interrupted}, {OutOfReach}
 */
const runCommit = async (
  deps: CommitDeps,
  { tenantId, sessionId }: CommittingSession,
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

  const session = await policy.retry(() => decide(system, startRun));
  if (session.status !== 'committing') return true;
  const frozen = await policy.retry(() => readFrozen(deps, tenantId, session));
  const run = runOf(tenantId, session, frozen);
  const recorder = new Recorder({ ...deps, run });
  const rowLoop = new RowLoop({ ...deps, run, frozen, recorder });
  const endSession = (decision: typeof finishCommit | typeof failCommit) => async (tries: number) => {
    const applied = await countCascade(deps, run, frozen.rows);
    await decide(run.cause, (state) =>
      // An earlier try may have been stored although its answer was lost.
      tries > 0 && sessionIn(state).status !== 'committing' ? [] : decision(state, run.number, applied),
    );
  };
  try {
    await rowLoop.run(signal);
    await recorder.flush();
    await policy.retry(endSession(finishCommit));
  } catch (error) {
    if (error instanceof Interrupted) await recorder.tryOnce();
    if (!(error instanceof OutOfReach)) throw error;
    logger.error(
      { session_id: sessionId },
      'a store was unavailable for too long; the bulk commit ends as errored',
    );
    await rowLoop.settle();
    await policy.retryForever(endSession(failCommit));
  }
  return true;
};

const runOf = (
  tenantId: string,
  session: SessionState,
  { cause, since }: Pick<Frozen, 'cause' | 'since'>,
): CommitRun => {
  const { id: sessionId, run: number, entityName, opParams, selection, commitStartedAt: now = 0 } = session;
  return {
    tenantId,
    sessionId,
    number,
    entityName,
    opParams,
    // The cast holds: the preview stored a checked filter.
    selectedBy: selection.kind === 'filter' ? { filter: selection.filter as Filter, now } : undefined,
    committedBy: session.committedBy ?? cause.actor.id,
    cause,
    since,
  };
};
