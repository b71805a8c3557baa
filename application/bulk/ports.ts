import type { Filter } from '../../domain/expressions/filter.ts';
import type { Position } from '../ports/event-store.ts';

/** A filter and the time it is evaluated at. */

export interface SelectedBy {
  readonly filter: Filter;
  /** `now()` of the filter (ms). */
  readonly now: number;
}

export interface RecordSelector {
  /** Ids of the records that a filter selects, newest first. */
  ids(tenantId: string, entityName: string, by: SelectedBy): AsyncIterable<string>;
  count(tenantId: string, entityName: string, by: SelectedBy): Promise<number>;
}

export interface Referrers {
  /** Whether any entity has references to records of this one. */
  canPointTo(tenantId: string, entityName: string): Promise<boolean>;
  /** Records that refer to a record. */
  of(tenantId: string, recordId: string): AsyncIterable<{ readonly id: string }>;
}

/** Load of requests that run beside a commit. */
export interface ForegroundLoad {
  /** Number of requests so far. */
  readonly asked: number;
  /** How long (ms) the oldest request has waited for a read model; 0 when none waits. */
  longestWait(): number;
  /** Whether the records' read model reaches `position` within `ms`; it folds at once meanwhile. */
  comesTo(position: Position, ms: number): Promise<boolean>;
}

/** A committing session. */
export interface RunningSession {
  readonly tenantId: string;
  readonly sessionId: string;
}
