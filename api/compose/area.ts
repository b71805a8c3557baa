import type { LeaseOptions } from '../../application/core/subscriptions/lease.ts';
import type { Subscriber } from '../../application/core/subscriptions/subscriber.ts';
import type { Route } from '../http/route.ts';

/** Parts of the server that one area contributes. `compose/areas.ts` lists all areas. */
export interface Area {
  readonly routes?: readonly Route[];
  /** Followers of the log. Each runs in one process at a time, under a lease. */
  readonly subscribers?: readonly Subscriber[];
  /** Work of every process, whatever its role, until aborted. */
  readonly everywhere?: (signal: AbortSignal) => readonly Promise<void>[];
  /** Work of processes with `ROLE=all` or `ROLE=worker`, until aborted. */
  readonly background?: (lease: LeaseOptions, signal: AbortSignal) => Promise<void>;
  /** Called when a stop begins, before connections close. */
  readonly closing?: () => void;
  /** Ends work that ignores the abort signal, after the connections have closed. */
  readonly stop?: () => Promise<unknown>;
}
