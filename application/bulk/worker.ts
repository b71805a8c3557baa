import { pause } from '../lease-holder.ts';
import type { Logger } from '../ports/logger.ts';
import type { RunningSession } from './ports.ts';
import type { BulkRunner } from './runner.ts';

/** Committing sessions are looked for so often (ms). */
const POLL_MS = 250;
/** Sessions worked on at the same time by one process, each of another tenant. */
const WIDTH = 4;
/** A session that another process works on, or that failed, is looked at again after this (ms), then less often. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5000;

/** Sessions of one tenant that are looked at, and tenants, in one go. */
const OF_EACH = 50;
const TENANTS = 32;

/** The first sessions of the first tenants: however many one of them has waiting, the next one's are seen. */
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
 * The background worker: takes up committing sessions of all tenants, also those whose process died. Tenants take
 * turns: each has one session at a time.
 */
export const runBulkWorker = async (
  deps: {
    readonly runner: Pick<BulkRunner, 'run' | 'isRunning'>;
    /** The one begun first at the head. */
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
      waits.set(key, { until: performance.now() + ms, ms });
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
        const isWaiting = (waits.get(key)?.until ?? 0) > performance.now();
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
