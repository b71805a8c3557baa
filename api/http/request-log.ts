import type { Principal } from '../../application/core/commands/principal.ts';
import { monotonic } from '../../application/core/runtime/timers.ts';
import type { Logger } from '../../application/ports/logger.ts';

const WINDOW_MS = 1000;

/** A served request. Names the route's pattern, not the path: paths of public links hold a credential. */
export interface ServedRequest {
  readonly request_id: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly ms: number;
}

const callerOf = (principal: Principal | undefined): object => {
  if (principal === undefined) return { caller: 'anybody' };
  return 'tenantId' in principal
    ? { caller: principal.kind, tenant: principal.tenantId }
    : { caller: principal.kind };
};

export type LogRequest = (request: ServedRequest, principal: Principal | undefined) => void;

/**
 * Logs one line for each request, at most `perSecond` in a second; the first line after a gap has the number of lines
 * that were `skipped`.
 * @param now monotonic milliseconds
 */
export const requestLog = (
  logger: Pick<Logger, 'info'>,
  perSecond: number,
  now: () => number = monotonic,
): LogRequest => {
  let windowEnds = 0;
  let left = 0;
  let skipped = 0;
  return (request, principal) => {
    const time = now();
    if (time >= windowEnds) {
      windowEnds = time + WINDOW_MS;
      left = perSecond;
    }
    if (left === 0) {
      skipped += 1;
      return;
    }
    left -= 1;
    const gap = skipped === 0 ? undefined : { skipped };
    skipped = 0;
    logger.info({ ...request, ...callerOf(principal), ...gap }, 'request');
  };
};
