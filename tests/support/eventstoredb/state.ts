import type { Counts } from './counts.ts';
import type { EventLog } from './event-log.ts';

/** How long (ms) the server takes from an append's arrival to its commit, and before it answers a read. */
export interface Pace {
  commitMs: number;
  readMs: number;
}

export const usualPace = (): Pace => ({ commitMs: 1, readMs: 0 });

export interface State {
  readonly log: EventLog;
  readonly counts: Counts;
  readonly pace: Pace;
  /** The server refuses every call until then (ms since the epoch), as one that has just started. */
  readonly readyAt: number;
}
