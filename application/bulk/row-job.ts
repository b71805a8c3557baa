import type { OpParams } from '../../domain/bulk/session-events.ts';
import type { LiveRecord } from '../../domain/entities/record.ts';
import { matches } from '../../domain/expressions/filter.ts';
import type { Cause } from '../core/events/event-codec.ts';
import type { Position } from '../ports/event-store.ts';
import type { SelectedBy } from './ports.ts';

/** The commit of a row. */
export interface RowJob {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly entityName: string;
  readonly opParams: OpParams;
  /** For a selection by filter: rows that it no longer selects stay unchanged. */
  readonly selectedBy: SelectedBy | undefined;
  readonly committedBy: string;
  /** The cause of the commit; each row has its own causation id. */
  readonly cause: Cause;
  /** Position of the commit's start. */
  readonly since: Position;
  /** True from the second run on: an earlier run may have applied rows without recording them. */
  readonly isRetaken: boolean;
}

/** A selection by filter must hold for the version that is changed. */
export const versionOf = (
  { selectedBy }: Pick<RowJob, 'selectedBy'>,
  { version }: LiveRecord,
): number | undefined => (selectedBy === undefined ? undefined : version);

/** The causation id of a row's events (decision 15). Request ids have no colon and cannot equal it. */
export const rowCausation = (sessionId: string, recordId: string): string => `bulk:${sessionId}:${recordId}`;

/** Prefix of the ids of a session's deletions, by which a deleted record names its session. */
export const deletionPrefix = (sessionId: string): string => `bulk:${sessionId}:`;

export const isDeletionOf = (sessionId: string, deletionId: string): boolean =>
  deletionId.startsWith(deletionPrefix(sessionId));

/** Whether the session's selection still includes the record. */
export const isSelected = ({ selectedBy }: RowJob, record: LiveRecord): boolean =>
  selectedBy === undefined || matches(selectedBy.filter, fieldsOf(record), selectedBy.now);

/** The fields of a record for filters. */
const fieldsOf = (record: LiveRecord) => ({
  id: record.id,
  state: record.job?.state ?? null,
  // Getters, since few filters use times.
  get created_at() {
    return new Date(record.createdAt).toISOString();
  },
  get updated_at() {
    return new Date(record.updatedAt).toISOString();
  },
  values: record.values,
});
