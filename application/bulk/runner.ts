import { type BulkState, bulkDecider, type SessionState, sessionIn } from '../../domain/bulk/session.ts';
import { failCommit, finishCommit, startRun, TakenOver } from '../../domain/bulk/session-decisions.ts';
import type { BulkEvent, Cascade } from '../../domain/bulk/session-events.ts';
import type { Cause, EventCodec } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import { whileRenewed } from '../lease-holder.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadStore } from '../ports/read-store.ts';
import { countCascade } from './cascade-count.ts';
import { CommitRun } from './commit-run.ts';
import { readFrozen } from './frozen.ts';
import { Interrupted, OutOfReach, Patience } from './patience.ts';
import { NO_OTHERS, type Others, type Referrers } from './ports.ts';
import { Recorder } from './recorder.ts';
import type { RowJob } from './row-job.ts';
import type { Rows } from './rows.ts';

export interface RunnerOptions {
  readonly leaseMs: number;
  /** A commit ends as errored when nothing of it could be done for so long (ms). */
  readonly outOfReachMs: number;
  /** Rows under way at the same time. */
  readonly width: number;
  /** First pause (ms) after a failure. */
  readonly pauseMs?: number;
}

/** Enough for group commit to bear fruit; deletions wait for the read model in between. */
export const RUNNER: RunnerOptions = { leaseMs: 3000, outOfReachMs: 15 * 60_000, width: 256 };

interface Deps {
  readonly commands: CommandHandler;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly leases: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
  readonly rows: Rows;
  readonly referrers: Referrers;
  /** Those whom a commit must not hold up. */
  readonly others?: Others;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly owner: string;
}

/**
 * Works on committing sessions, each under a lease of its own (specification, States). Whoever takes a session over
 * from a process that died goes on where that one stopped: rows that were done are recorded, or are found done.
 */
export class BulkRunner {
  readonly #deps: Deps;
  readonly #options: RunnerOptions;
  readonly #running = new Map<string, Promise<boolean>>();
  readonly #stopping = new AbortController();

  constructor(deps: Deps, options: RunnerOptions = RUNNER) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Lets rows under way end, and takes no further ones. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running.values());
  }

  get isStopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  isRunning(tenantId: string, sessionId: string): boolean {
    return this.#running.has(`${tenantId}/${sessionId}`);
  }

  /**
   * Works on a session until it has ended.
   * @returns false when somebody else is at it, or when the work was cut off: it is to be taken up again
   */
  run(tenantId: string, sessionId: string): Promise<boolean> {
    const key = `${tenantId}/${sessionId}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = this.#runUnderLease(tenantId, sessionId).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #runUnderLease(tenantId: string, sessionId: string): Promise<boolean> {
    const { leases, owner, logger } = this.#deps;
    const { leaseMs } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    const lease = await leases.acquireLease(`bulk:${tenantId}/${sessionId}`, owner, leaseMs);
    if (lease === undefined) return false;
    let hasEnded = false;
    // Of the store, leases alone are asked of it here.
    const options = { store: leases as ReadStore, logger, owner, ttlMs: leaseMs };
    await whileRenewed(lease, options, signal, async (_lease, held) => {
      hasEnded = await this.#work(tenantId, sessionId, held);
    });
    return hasEnded;
  }

  async #work(tenantId: string, sessionId: string, signal: AbortSignal): Promise<boolean> {
    const { clock, logger } = this.#deps;
    const { outOfReachMs: limitMs, pauseMs } = this.#options;
    const patience = new Patience({ clock, limitMs, ...(pauseMs === undefined ? {} : { pauseMs }) }, signal);
    try {
      return await this.#workOn(tenantId, sessionId, patience, signal);
    } catch (error) {
      if (error instanceof TakenOver || error instanceof Interrupted || error instanceof OutOfReach)
        return false;
      logger.error({ err: error, session_id: sessionId }, 'a bulk session could not be worked on');
      return false;
    }
  }

  async #workOn(
    tenantId: string,
    sessionId: string,
    patience: Patience,
    signal: AbortSignal,
  ): Promise<boolean> {
    const system: Cause = {
      actor: { kind: 'system', id: 'bulk-worker' },
      correlationId: sessionId,
      causationId: sessionId,
    };
    const begun = await patience.with(() => this.#on(tenantId, sessionId, system, startRun));
    const session = sessionIn(begun);
    if (session.status !== 'committing') return true;
    const frozen = await patience.with(() => readFrozen(this.#deps, tenantId, session));
    const job = jobOf(tenantId, session, frozen);
    const recorder = new Recorder(this.#deps.commands, job, session.run, patience);
    const { rows, logger, others = NO_OTHERS } = this.#deps;
    const { width } = this.#options;
    const work = new CommitRun({ job, rows, recorder, patience, logger, width, others }, frozen);
    const finish = (decide: typeof finishCommit | typeof failCommit) => async (tries: number) => {
      const applied = await this.#cascade(job, frozen.rows);
      return this.#on(tenantId, sessionId, job.cause, (state) =>
        // An earlier try may have been stored without an answer.
        tries > 0 && sessionIn(state).status !== 'committing' ? [] : decide(state, session.run, applied),
      );
    };
    try {
      await work.applyAll(signal);
      await recorder.flush();
      await patience.with(finish(finishCommit));
      return true;
    } catch (error) {
      if (error instanceof Interrupted) await recorder.tryOnce();
      if (!(error instanceof OutOfReach)) throw error;
      logger.error({ session_id: sessionId }, 'a store was out of reach for too long; a bulk commit ends');
      await work.settle();
      await patience.always(finish(failCommit));
      return true;
    }
  }

  async #cascade(job: RowJob, rows: readonly string[]): Promise<Cascade | undefined> {
    if (job.opParams.kind !== 'delete') return undefined;
    const { tenantId, sessionId, entityName, since } = job;
    if (!(await this.#deps.referrers.canPointTo(tenantId, entityName))) return { by_entity: [], total: 0 };
    return countCascade(this.#deps, tenantId, sessionId, new Set(rows), since);
  }

  async #on(
    tenantId: string,
    id: string,
    cause: Cause,
    decide: (state: BulkState) => readonly BulkEvent[],
  ): Promise<BulkState> {
    const { state } = await this.#deps.commands.execute({
      tenantId,
      decider: bulkDecider,
      id,
      cause,
      decide,
    });
    return state;
  }
}

const jobOf = (
  tenantId: string,
  session: SessionState,
  { cause, since }: Pick<RowJob, 'cause' | 'since'>,
): RowJob => {
  const {
    id: sessionId,
    entityName,
    opParams,
    selection,
    committedBy = cause.actor.id,
    commitStartedAt = 0,
  } = session;
  return {
    tenantId,
    sessionId,
    entityName,
    opParams,
    // Written by the preview from a checked filter.
    selectedBy:
      selection.kind === 'filter'
        ? { filter: selection.filter as NonNullable<RowJob['selectedBy']>['filter'], now: commitStartedAt }
        : undefined,
    committedBy,
    cause,
    since,
    isRetaken: session.run > 1,
  };
};
