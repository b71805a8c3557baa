import type { LogPage } from '../../application/core/subscriptions/log-follower.ts';
import type { LogGrowth, Position } from '../../application/ports/event-store.ts';

/** Messages between the main thread and the projections' thread of the same release, so they are not validated. */

export type ToProjections =
  /** The log has grown, with the new events if they came from a remote store; others are read from it. */
  | { readonly kind: 'appended'; readonly growths: readonly LogGrowth[] }
  /** Requests the page of the log after a position, or the first page. */
  | { readonly kind: 'read'; readonly id: number; readonly after?: Position }
  /** Whether a reader waits for a projection. */
  | { readonly kind: 'hurry'; readonly projection: string; readonly waiting: boolean }
  | { readonly kind: 'stop' };

export type ProjectionMetric =
  | {
      readonly name: 'projected';
      readonly projection: string;
      readonly count: number;
      readonly seconds: number;
    }
  | { readonly name: 'lag'; readonly projection: string; readonly seconds: number }
  | { readonly name: 'parked'; readonly projection: string; readonly count: number };

/** A generation has folded and stored up to `checkpoint`. */
export interface ProjectionProgress {
  readonly projection: string;
  readonly tag: string;
  readonly checkpoint?: string | undefined;
  readonly parked: readonly string[];
}

export type FromProjections =
  | { readonly kind: 'progress'; readonly made: readonly ProjectionProgress[] }
  /** This thread no longer folds a generation. */
  | { readonly kind: 'ended'; readonly projection: string; readonly tag: string }
  /** The answer to `read`. */
  | { readonly kind: 'page'; readonly id: number; readonly page: LogPage }
  | { readonly kind: 'metrics'; readonly metrics: readonly ProjectionMetric[] };
