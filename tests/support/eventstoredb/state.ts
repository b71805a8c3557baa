import type { Counts } from './counts.ts';
import type { EventLog } from './event-log.ts';

/** Delay (ms) from an append's arrival to its commit, and before the answer to a read. */
export interface Pace {
  commitMs: number;
  readMs: number;
}

export const usualPace = (): Pace => ({ commitMs: 1, readMs: 0 });

export interface State {
  readonly log: EventLog;
  readonly counts: Counts;
  readonly pace: Pace;
  /** Until this time (ms since the epoch) the server refuses every call, like one that has just started. */
  readonly readyAt: number;
}
