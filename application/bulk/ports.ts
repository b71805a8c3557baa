import type { Filter } from '../../domain/expressions/filter.ts';
import type { Position } from '../ports/event-store.ts';

/** What bulk operations ask of the read models. */

export interface SelectedBy {
  readonly filter: Filter;
  /** ms; what `now()` of the filter is. */
  readonly now: number;
}

export interface RecordSelector {
  /** Ids of the records that a filter selects, newest first. */
  ids(tenantId: string, entityName: string, by: SelectedBy): AsyncIterable<string>;
  count(tenantId: string, entityName: string, by: SelectedBy): Promise<number>;
}

export interface Referrers {
  /** Whether records of any entity can point to records of this one. */
  canPointTo(tenantId: string, entityName: string): Promise<boolean>;
  /** Records that point to one. */
  of(tenantId: string, recordId: string): AsyncIterable<{ readonly id: string }>;
}

/** What is known of requests that are served beside a commit. */
export interface ForegroundLoad {
  /** Counts what requests ask for; only ever grows. */
  readonly asked: number;
  /** How long (ms) somebody has been waiting for a read model to come along; 0 for nobody. */
  longestWait(): number;
  /** Whether the read model of the rows comes to a place in the log within so many ms; it is hurried meanwhile. */
  comesTo(position: Position, ms: number): Promise<boolean>;
}

export const NO_FOREGROUND_LOAD: ForegroundLoad = {
  asked: 0,
  longestWait: () => 0,
  comesTo: async () => true,
};

/** A session that is being committed. */
export interface RunningSession {
  readonly tenantId: string;
  readonly sessionId: string;
}
