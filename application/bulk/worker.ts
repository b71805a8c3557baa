import { TakenOver } from '../../domain/bulk/session-decisions.ts';
import { Interrupted, OutOfReach, RetryPolicy } from '../core/concurrency/retry-policy.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { whileRenewed } from '../core/subscriptions/lease.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { ReadStore } from '../ports/read-store.ts';
import { type CommitDeps, runCommit } from './commit.ts';
import type { RunningSession } from './ports.ts';

export interface RunnerOptions {
  readonly leaseMs: number;
  /** A commit ends as errored when nothing succeeded for this long (ms). */
  readonly outOfReachMs: number;
  /** Rows processed at the same time. */
  readonly width: number;
  /** First pause (ms) after a failure. */
  readonly pauseMs?: number;
}

export const RUNNER: RunnerOptions = { leaseMs: 3000, outOfReachMs: 15 * 60_000, width: 256 };

interface RunnerDeps extends Omit<CommitDeps, 'policy' | 'width'> {
  readonly leases: Pick<ReadStore, 'acquireLease' | 'releaseLease'>;
  readonly clock: Clock;
  readonly owner: string;
}

/** Runs commits, each under its own lease, so that another process takes over after a crash. */
export class BulkRunner {
  readonly #deps: RunnerDeps;
  readonly #options: RunnerOptions;
  readonly #running = new Map<string, Promise<boolean>>();
  readonly #stopping = new AbortController();

  constructor(deps: RunnerDeps, options: RunnerOptions = RUNNER) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Lets running rows end and starts no further ones. */
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
   * Runs a session to its end.
   * @returns false when another process runs it, or it was interrupted and must be run again
   */
  run(tenantId: string, sessionId: string): Promise<boolean> {
    const key = `${tenantId}/${sessionId}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const started = this.#runUnderLease({ tenantId, sessionId }).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #runUnderLease(session: RunningSession): Promise<boolean> {
    const { leases, owner, logger } = this.#deps;
    const { leaseMs: ttlMs } = this.#options;
    const { signal } = this.#stopping;
    if (signal.aborted) return false;
    const name = `bulk:${session.tenantId}/${session.sessionId}`;
    const lease = await leases.acquireLease(name, owner, ttlMs);
    if (lease === undefined) return false;
    let hasEnded = false;
    await whileRenewed(lease, { store: leases, logger, owner, ttlMs }, signal, async (_lease, held) => {
      hasEnded = await this.#commit(session, held);
    });
    return hasEnded;
  }

  async #commit(session: RunningSession, signal: AbortSignal): Promise<boolean> {
    const { outOfReachMs: limitMs, pauseMs = 50, width } = this.#options;
    const policy = new RetryPolicy({ clock: this.#deps.clock, limitMs, pauseMs }, signal);
    try {
      return await runCommit({ ...this.#deps, width, policy }, session, signal);
    } catch (error) {
      const isExpected =
        error instanceof TakenOver || error instanceof Interrupted || error instanceof OutOfReach;
      const { logger } = this.#deps;
      if (!isExpected) {
        logger.error({ err: error, session_id: session.sessionId }, 'a bulk session could not be worked on');
      }
      return false;
    }
  }
}

/** Interval (ms) of looking for committing sessions. */
const POLL_MS = 250;
/** Sessions that a process runs at the same time, one per tenant; each keeps its rows' ids in memory. */
const WIDTH = 16;
/** First and longest wait (ms) before a session that failed, or that another process runs, is tried again. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5000;

/** Sessions per tenant, and tenants, read at once. */
const OF_EACH = 50;
const TENANTS = 32;

/** The first sessions of the first tenants, so that one tenant's backlog does not hide another's sessions. */
export const ofEachTenant = async (
  pages: AsyncIterable<readonly RunningSession[]>,
): Promise<readonly RunningSession[]> => {
  const found: RunningSession[] = [];
  const counts = new Map<string, number>();
  for await (const page of pages) {
    for (const session of page) {
      const count = counts.get(session.tenantId) ?? 0;
      counts.set(session.tenantId, count + 1);
      if (count < OF_EACH) found.push(session);
    }
    if (counts.size >= TENANTS) break;
  }
  return found;
};

/**
 * Runs committing sessions of all tenants in the background, also those of crashed processes; one session per tenant at
 * a time.
 */
export const runBulkWorker = async (
  deps: {
    readonly runner: Pick<BulkRunner, 'run' | 'isRunning'>;
    /** Oldest first. */
    readonly running: () => Promise<readonly RunningSession[]>;
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<void> => {
  const { runner, running, logger } = deps;
  const active = new Map<string, Promise<void>>();
  const waits = new Map<string, { readonly until: number; readonly ms: number }>();

  const work = async ({ tenantId, sessionId }: RunningSession, key: string): Promise<void> => {
    const hasEnded = await runner.run(tenantId, sessionId).catch((error: unknown) => {
      logger.warn({ err: error, session_id: sessionId }, 'a bulk session could not be taken up');
      return false;
    });
    if (hasEnded) waits.delete(key);
    else {
      const ms = Math.min((waits.get(key)?.ms ?? FIRST_WAIT_MS / 2) * 2, LONGEST_WAIT_MS);
      waits.set(key, { until: monotonic() + ms, ms });
    }
    active.delete(tenantId);
  };

  while (!signal.aborted) {
    try {
      const found = await running();
      const keys = new Set(found.map(({ tenantId, sessionId }) => `${tenantId}/${sessionId}`));
      for (const key of waits.keys()) if (!keys.has(key)) waits.delete(key);
      for (const session of found) {
        const { tenantId, sessionId } = session;
        const key = `${tenantId}/${sessionId}`;
        const isWaiting = (waits.get(key)?.until ?? 0) > monotonic();
        if (isWaiting || active.size >= WIDTH || active.has(tenantId)) continue;
        if (!runner.isRunning(tenantId, sessionId)) active.set(tenantId, work(session, key));
      }
    } catch (error) {
      logger.warn({ err: error }, 'committing bulk sessions could not be looked for');
    }
    await pause(POLL_MS, signal);
  }
  await Promise.all(active.values());
};
