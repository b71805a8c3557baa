import { monotonic, pause } from '../core/runtime/timers.ts';
import type { Logger } from '../ports/logger.ts';
import type { BulkRunner, CommittingSession } from './runner.ts';

/** Interval (ms) at which the worker looks for committing sessions. */
const POLL_MS = 250;
/** Sessions that the worker runs at the same time, one per tenant; each keeps its rows' ids in memory. */
const WIDTH = 16;
/** First and longest wait (ms) before a session that failed, or that another process runs, is tried again. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5000;

/** Limits of one read: the number of sessions per tenant, and the number of tenants after which reading stops. */
const OF_EACH = 50;
const TENANTS = 32;

/** Limits the sessions of each tenant, so that one tenant's backlog does not hide another tenant's sessions. */
export const ofEachTenant = async (
  pages: AsyncIterable<readonly CommittingSession[]>,
): Promise<readonly CommittingSession[]> => {
  const found: CommittingSession[] = [];
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
 * Runs committing sessions of all tenants in the background, including sessions of crashed processes; runs one session
 * per tenant at a time.
 */
export const runBulkWorker = async (
  deps: {
    readonly runner: Pick<BulkRunner, 'commit' | 'isCommitting'>;
    /** Committing sessions, oldest first. */
    readonly committing: () => Promise<readonly CommittingSession[]>;
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<void> => {
  const { runner, committing, logger } = deps;
  const active = new Map<string, Promise<void>>();
  const waits = new Map<string, { readonly until: number; readonly ms: number }>();

  const work = async ({ tenantId, sessionId }: CommittingSession, key: string): Promise<void> => {
    const hasEnded = await runner.commit(tenantId, sessionId).catch((error: unknown) => {
      logger.warn({ err: error, session_id: sessionId }, 'a bulk session could not be run');
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
      const found = await committing();
      const keys = new Set(found.map(({ tenantId, sessionId }) => `${tenantId}/${sessionId}`));
      for (const key of waits.keys()) if (!keys.has(key)) waits.delete(key);
      for (const session of found) {
        const { tenantId, sessionId } = session;
        const key = `${tenantId}/${sessionId}`;
        const isWaiting = (waits.get(key)?.until ?? 0) > monotonic();
        if (isWaiting || active.size >= WIDTH || active.has(tenantId)) continue;
        if (!runner.isCommitting(tenantId, sessionId)) active.set(tenantId, work(session, key));
      }
    } catch (error) {
      logger.warn({ err: error }, 'committing bulk sessions could not be listed');
    }
    await pause(POLL_MS, signal);
  }
  await Promise.all(active.values());
};
