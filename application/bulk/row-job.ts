import type { OpParams } from '../../domain/bulk/session-events.ts';
import type { LiveRecord } from '../../domain/entities/record.ts';
import { matches } from '../../domain/expressions/filter.ts';
import type { Cause } from '../core/events/event-codec.ts';
import type { Position } from '../ports/event-store.ts';
import type { SelectedBy } from './ports.ts';

/** The commit that a row belongs to. */
export interface RowJob {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly entityName: string;
  readonly opParams: OpParams;
  /** Of a selection by filter: rows that it no longer selects are left as they are. */
  readonly selectedBy: SelectedBy | undefined;
  readonly committedBy: string;
  /** Of the commit; each row has a causation of its own. */
  readonly cause: Cause;
  /** The commit's place in the log. */
  readonly since: Position;
  /** True from the second run on: an earlier one may have done rows that it did not record. */
  readonly isRetaken: boolean;
}

/** A selection by filter must hold for the very version that is changed. */
export const versionOf = (
  { selectedBy }: Pick<RowJob, 'selectedBy'>,
  { version }: LiveRecord,
): number | undefined => (selectedBy === undefined ? undefined : version);

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isRecordId = (text: string): boolean => UUID.test(text);

/** The causation of the events of one row (decision 15). No request can name it: a request id has no colon. */
export const rowCausation = (sessionId: string, recordId: string): string => `bulk:${sessionId}:${recordId}`;

/** The ids of a session's deletions begin with this, so that a deleted record names its session. */
export const deletionPrefix = (sessionId: string): string => `bulk:${sessionId}:`;

export const isDeletionOf = (sessionId: string, deletionId: string): boolean =>
  deletionId.startsWith(deletionPrefix(sessionId));

/** Whether a record is still one of those that the session selected. */
export const isSelected = ({ selectedBy }: RowJob, record: LiveRecord): boolean =>
  selectedBy === undefined || matches(selectedBy.filter, fieldsOf(record), selectedBy.now);

/** A record as filters see it. */
const fieldsOf = (record: LiveRecord) => ({
  id: record.id,
  state: record.job?.state ?? null,
  // Few filters ask for times.
  get created_at() {
    return new Date(record.createdAt).toISOString();
  },
  get updated_at() {
    return new Date(record.updatedAt).toISOString();
  },
  values: record.values,
});
